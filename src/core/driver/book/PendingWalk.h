#pragma once

#include "core/driver/book/ListCursor.h"
#include "core/timeout/FoundTimeouts.h"

#include <timingwheel/detail/FoundTimeout.h>
#include <timingwheel/detail/TimeoutEntry.h>
#include <timingwheel/wheel/RawTimingWheel.h>

#include <cstddef>
#include <unordered_set>
#include <vector>

namespace timingwheel::inline v1::detail {

/// A walk through all that is pending in a shard, kPerHold entries for each hold of its lock, while
/// the driver and others go on. An entry that nobody else moves is found in one of two ways:
///
///   - It stays in its list until the walk comes there. Lists that are moved as a whole, as by a
///     flush, move to a place that comes later in the walk.
///   - The driver moves it alone, and notes it here. If there is no room for that, the walk has
///     missed something and must be made again with more. So it must if the clock is set back,
///     which moves all.
///
/// Within a bucket's list the walk keeps no place: it moves what it has seen to the end of the
/// list, so what it has not seen stands first. What is due, or waits for an executor, keeps its
/// order: see ListCursor. docs/decisions/0014 has the alternatives.
///
/// Thread safety  none: prepare() without the lock, everything else under it
class PendingWalk {
public:
    static constexpr std::size_t kPerHold = 256;
    static constexpr std::size_t kBucketsPerHold = 4'096;

    /// With room for `notes` notes between two holds.
    PendingWalk(FoundTimeouts& found, TickScale const& scale, std::size_t notes);

    /// Before each hold, and at the end. Throws std::bad_alloc.
    void prepare();

    /// At the beginning of a hold.
    void begin() noexcept;
    // These return true at their end, and false if the hold has done enough.
    bool through(RawTimingWheel& wheel) noexcept;
    bool along(ListCursor& cursor, ListCursor::Lists lists) noexcept;

    /// The driver moves a pending entry.
    void note(TimeoutEntry& entry) noexcept;
    /// Entries were moved that nobody notes.
    void miss() noexcept { hasMissed_ = true; }
    bool hasMissed() const noexcept { return hasMissed_; }

private:
    bool visit(TimerTaskList::List& list) noexcept;

    FoundTimeouts& found_;
    TickScale const& scale_;
    std::vector<FoundTimeout> noted_;  // by the driver, since the last hold
    std::vector<FoundTimeout> taken_;  // those noted before
    bool hasMissed_ = false;
    RawTimingWheel::WalkPlace place_;
    std::size_t left_ = 0;
    /// Entries that the walk has moved to the end of a list: the first of them ends that list.
    std::unordered_set<void const*> moved_;
    std::size_t movedFrom_ = 0;  // in `found_`: to be added to `moved_`
    std::size_t movedTo_ = 0;
};

}  // namespace timingwheel::inline v1::detail
