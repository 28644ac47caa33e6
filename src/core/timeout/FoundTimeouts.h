#pragma once

#include "core/timeout/TickScale.h"

#include <timingwheel/PendingTimeout.h>
#include <timingwheel/detail/FoundTimeout.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <cstddef>
#include <vector>

namespace timingwheel::inline v1::detail {

/// What a call of pending() has found so far. Room is made without the lock, entries are added
/// under it: that allocates nothing.
///
/// Thread safety  none
class FoundTimeouts {
public:
    FoundTimeouts(std::vector<FoundTimeout>& found, TickScale const& scale) noexcept
        : found_{found}, scale_{scale} {}

    std::size_t size() const noexcept { return found_.size(); }
    bool isFull() const noexcept { return found_.size() == found_.capacity(); }
    void const* entryAt(std::size_t index) const noexcept { return found_[index].entry; }

    // Without the lock: drops handles.

    void makeRoom(std::size_t more);
    void append(std::vector<FoundTimeout>& others);
    /// Keeps one of each. O(n log n).
    void keepOneOfEach();
    void clear() noexcept { found_.clear(); }

    /// Adds a pending entry. REQUIRES: not isFull(), and the lock is held: nothing ends the entry.
    void add(TimeoutEntry& entry) noexcept;

private:
    std::vector<FoundTimeout>& found_;
    TickScale const& scale_;
};

}  // namespace timingwheel::inline v1::detail
