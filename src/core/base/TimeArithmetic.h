#pragma once

#include "core/base/platform/CheckedArithmetic.h"

#include <chrono>
#include <cstdint>

namespace timingwheel::inline v1::detail {

// Times and durations that stop at the ends of their range instead of wrapping.

/// The same type as Clock::TimePoint.
using TimePoint = std::chrono::steady_clock::time_point;

/// `time` + `delay`. The longest delay means never, whatever the clock shows.
inline TimePoint timeAfter(TimePoint time, std::chrono::nanoseconds delay) noexcept {
    if (delay == std::chrono::nanoseconds::max()) return TimePoint::max();
    std::int64_t sum = 0;
    if (addOverflows(time.time_since_epoch().count(), delay.count(), sum))
        return delay.count() > 0 ? TimePoint::max() : TimePoint::min();
    return TimePoint{std::chrono::nanoseconds{sum}};
}

/// `later` - `earlier`.
inline std::chrono::nanoseconds timeBetween(TimePoint earlier, TimePoint later) noexcept {
    std::int64_t difference = 0;
    if (subtractOverflows(later.time_since_epoch().count(), earlier.time_since_epoch().count(),
                          difference))
        return later > earlier ? std::chrono::nanoseconds::max() : std::chrono::nanoseconds::min();
    return std::chrono::nanoseconds{difference};
}

/// The same; 0 if `later` is not later.
inline std::chrono::nanoseconds timeSince(TimePoint earlier, TimePoint later) noexcept {
    return later > earlier ? timeBetween(earlier, later) : std::chrono::nanoseconds{0};
}

// Milliseconds since 1970, in files and records. As with ticks a deadline is rounded up and now is
// rounded down, so nothing is early.

template <class Duration>
std::int64_t deadlineToMilliseconds(std::chrono::sys_time<Duration> deadline) noexcept {
    return std::chrono::ceil<std::chrono::milliseconds>(deadline).time_since_epoch().count();
}
template <class Duration>
std::int64_t nowToMilliseconds(std::chrono::sys_time<Duration> now) noexcept {
    return std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count();
}

/// The remainder of (`later` - `earlier`) / `period`, even if the difference does not fit.
/// REQUIRES: earlier <= later.
inline std::chrono::nanoseconds restOfPeriods(TimePoint earlier, TimePoint later,
                                              std::chrono::nanoseconds period) noexcept {
    auto const count = [](TimePoint time) {
        return static_cast<std::uint64_t>(time.time_since_epoch().count());
    };
    auto const length = static_cast<std::uint64_t>(period.count());
    return std::chrono::nanoseconds{
        static_cast<std::int64_t>((count(later) - count(earlier)) % length)};
}

}  // namespace timingwheel::inline v1::detail
