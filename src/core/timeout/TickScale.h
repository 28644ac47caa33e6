#pragma once

#include "core/base/Divisor.h"
#include "core/base/platform/CheckedArithmetic.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace timingwheel::inline v1::detail {

/// A timer's time to ticks, and back: nothing else in a timer converts them. (Asio's queue has a
/// wheel and a clock of its own, and rounds alike: asio/detail/WheelQueue.h.)
///
/// Ticks count from the timer's start. A deadline is rounded up and now is rounded down, each once.
/// So now never reaches a deadline's tick before its time: nothing is early. Differences are
/// unsigned, so the start may be any time.
class TickScale {
public:
    TickScale(Clock::TimePoint origin, std::chrono::nanoseconds tick) noexcept
        : origin_{origin.time_since_epoch().count()},
          tick_{tick.count()},
          divisor_{std::min(unsignedTick(), Divisor::kMaxDividend)},
          divisible_{unsignedTick() <= Divisor::kMaxDividend ? Divisor::kMaxDividend : 0} {}

    /// Counts from another time. REQUIRES: no time was converted yet.
    void startAt(Clock::TimePoint origin) noexcept { origin_ = origin.time_since_epoch().count(); }

    std::chrono::nanoseconds tick() const noexcept { return std::chrono::nanoseconds{tick_}; }
    /// Where the two numbers of a scale lie, in nanoseconds: for a probe.
    std::int64_t const& originAt() const noexcept { return origin_; }
    std::int64_t const& tickAt() const noexcept { return tick_; }

    /// The first tick that is not before `deadline`. If it may begin beyond TimePoint::max(),
    /// Tick::max(): never.
    Tick deadlineToTick(Clock::TimePoint deadline) const noexcept {
        std::int64_t const time = deadline.time_since_epoch().count();
        if (time <= origin_) return Tick{0};
        if (time > std::numeric_limits<std::int64_t>::max() - tick_) return Tick::max();
        return saturated(ticksIn(sinceOrigin(time) - 1) + 1);
    }

    /// The first tick that is after `deadline`, as Netty rounds. Never, as above.
    Tick tickAfter(Clock::TimePoint deadline) const noexcept {
        if (deadline.time_since_epoch().count() > std::numeric_limits<std::int64_t>::max() - tick_)
            return Tick::max();
        return nowToTick(deadline) + 1;
    }

    /// The last tick that is not after `now`; -1 before the start. Never Tick::max(), which is
    /// "never" and does not come.
    Tick nowToTick(Clock::TimePoint now) const noexcept {
        std::int64_t const time = now.time_since_epoch().count();
        if (time < origin_) return Tick{-1};
        return std::min(saturated(ticksIn(sinceOrigin(time))), Tick{Tick::kMax - 1});
    }

    /// When `tick` begins; TimePoint::max() if it cannot be expressed.
    Clock::TimePoint timeOf(Tick tick) const noexcept {
        std::int64_t elapsed = 0;
        std::int64_t time = 0;
        if (tick == Tick::max() || multiplyOverflows(tick.value(), tick_, elapsed) ||
            addOverflows(origin_, elapsed, time)) {
            // If the origin is far below zero, elapsed alone may not fit: count unsigned.
            auto const ticks = static_cast<std::uint64_t>(tick.value());
            std::uint64_t wide = 0;
            if (tick == Tick::max() || multiplyOverflows(ticks, unsignedTick(), wide) ||
                wide > sinceOrigin(std::numeric_limits<std::int64_t>::max()))
                return Clock::TimePoint::max();
            time = static_cast<std::int64_t>(static_cast<std::uint64_t>(origin_) + wide);
        }
        return Clock::TimePoint{std::chrono::nanoseconds{time}};
    }

private:
    std::uint64_t sinceOrigin(std::int64_t time) const noexcept {
        return static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(origin_);
    }
    std::uint64_t unsignedTick() const noexcept { return static_cast<std::uint64_t>(tick_); }

    /// Every schedule calls this, so it does not divide until 146 years have passed.
    std::uint64_t ticksIn(std::uint64_t elapsed) const noexcept {
        if (elapsed <= divisible_) [[likely]]
            return divisor_.divide(elapsed);
        return elapsed / unsignedTick();
    }

    static Tick saturated(std::uint64_t ticks) noexcept {
        return ticks >= static_cast<std::uint64_t>(Tick::kMax)
                   ? Tick::max()
                   : Tick{static_cast<std::int64_t>(ticks)};
    }

    std::int64_t origin_;
    std::int64_t tick_;
    Divisor divisor_;
    std::uint64_t divisible_;  // divisor_ is exact up to here
};

}  // namespace timingwheel::inline v1::detail
