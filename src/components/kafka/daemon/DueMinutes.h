#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace timingwheel::inline v1::kafka {

/// How many timers are due when: a count for each minute of the clock in which one is due.
///
/// Times are milliseconds since 1970. Nothing depends on what time it is: neither time that passes
/// nor a clock that is set changes a count.
///
/// Complexity     add and remove O(1) in the minute of the last call, else O(log(minutes));
///                dueBy O(minutes until then)
/// Memory         48 bytes for each minute in which a timer is due: 69 KB if each minute of a day
///                has one, and never more than 48 bytes a timer
/// Thread safety  none: one thread at a time
class DueMinutes {
public:
    DueMinutes() = default;
    DueMinutes(DueMinutes const&) = delete;
    DueMinutes& operator=(DueMinutes const&) = delete;

    /// Strong exception safety.
    void add(std::int64_t at);
    /// REQUIRES: it was added.
    void remove(std::int64_t at) noexcept;

    /// Timers that are due at `time` or before. Of the minute in which `time` lies it counts a
    /// part, as if that minute's timers were spread evenly.
    std::size_t dueBy(std::int64_t time) const noexcept;
    /// The end of the last minute in which a timer is due.
    std::optional<std::int64_t> farthest() const noexcept;
    /// Memory used.
    std::size_t bytes() const noexcept;

private:
    using Minutes = std::map<std::int64_t, std::size_t>;  // minutes since 1970, and their timers

    Minutes minutes_;
    Minutes::iterator last_ = minutes_.end();  // of the last call: the next is often of the same
};

}  // namespace timingwheel::inline v1::kafka
