#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>
#include <timingwheel/detail/platform/Deleted.h>

#include <chrono>
#include <concepts>
#include <type_traits>

namespace timingwheel::inline v1 {

/// When something is due: after a delay, or at a time point of the timer's clock. Whatever takes a
/// `When` takes either:
///
///     timer.newTimeout(task, 30s);
///     timer.newTimeout(task, timer.clock().now() + 30s);
///
/// - A delay is a chrono duration of any unit, or a Duration. It counts from the call. Zero and
///   negative delays are due at once. `Duration::max()` means never.
/// - A time point is a `Clock::TimePoint`, or converts to it, and is of the timer's own clock: take
///   `timer.clock().now()`, not another clock's. One in the past is due at once.
///   `TimePoint::max()` means never.
/// - A number does not compile, nor does a time point of `std::chrono::system_clock`. One of
///   another `Clock` compiles, and is silently wrong.
///
/// Memory         two words
/// Errors         as Duration
class When {
public:
    template <class Rep, class Period>
    constexpr When(std::chrono::duration<Rep, Period> delay)  // implicit: call f(30s)
        : value_{delay} {}
    constexpr When(Duration delay) noexcept : value_{delay} {}
    template <std::convertible_to<Clock::TimePoint> Time>
    constexpr When(Time const& time) : value_{sinceEpoch(time)}, isTimePoint_{true} {}

    // Mistakes, as in Duration.
    template <class NumberWithoutUnit>
        requires std::is_arithmetic_v<NumberWithoutUnit>
    When(NumberWithoutUnit)
        TIMINGWHEEL_DELETED("a length of time needs a unit: 30s, or std::chrono::seconds{30}");
    template <class OtherClock, class Length>
        requires(
            !std::is_convertible_v<std::chrono::time_point<OtherClock, Length>, Clock::TimePoint>)
    When(std::chrono::time_point<OtherClock, Length>)
        TIMINGWHEEL_DELETED("a time point must be one of std::chrono::steady_clock");

    constexpr bool isTimePoint() const noexcept { return isTimePoint_; }
    /// REQUIRES: it is no time point.
    constexpr Duration delay() const noexcept { return value_; }
    /// REQUIRES: it is a time point.
    constexpr Clock::TimePoint timePoint() const noexcept {
        return Clock::TimePoint{value_.nanoseconds()};
    }

private:
    static constexpr Duration sinceEpoch(Clock::TimePoint const& time) noexcept {
        return time.time_since_epoch();
    }
    /// One in a coarser unit may lie beyond all of them.
    template <class Length>
    static constexpr Duration sinceEpoch(
        std::chrono::time_point<Clock::TimePoint::clock, Length> const& time) {
        return time.time_since_epoch();
    }

    Duration value_;  // of a time point: since the clock's epoch
    bool isTimePoint_ = false;
};

}  // namespace timingwheel::inline v1
