#pragma once

#include "core/base/RecentTime.h"
#include "core/base/TimeArithmetic.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>
#include <timingwheel/When.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// True for Clock::steady() and Clock::continuous(), which nobody can set back.
bool neverGoesBack(Clock const& clock) noexcept;

/// A timer's clock, and the time at which it was frozen. A clock other than the steady one may be
/// destroyed as soon as its timer has stopped, while hooks and handles outlive both.
///
/// Thread safety  any number of threads; freeze() once
class TimerClock {
public:
    /// Which reading callers count delays from.
    enum class Reading : std::uint8_t {
        exact,
        coarse,
        recent,  ///< the coarse one of the steady clock, where it has a recent time
    };

    /// Adds `margin` to each positive delay.
    TimerClock(Clock& clock, Reading callers, std::chrono::nanoseconds margin) noexcept
        : clock_{clock},
          mayGo_{&clock != &Clock::steady()},
          neverGoesBack_{detail::neverGoesBack(clock)},
          mayGoBack_{clock.kind() == Clock::Kind::wall},
          callers_{callers},
          margin_{margin} {}
    TimerClock(TimerClock const&) = delete;
    TimerClock& operator=(TimerClock const&) = delete;

    /// REQUIRES: not frozen yet, as for now(), callersNow() and after().
    Clock& get() const noexcept { return clock_; }
    bool isSteady() const noexcept { return !mayGo_; }
    /// False if it is the user's, whatever its kind promises.
    bool neverGoesBack() const noexcept { return neverGoesBack_; }
    /// True if the wheels must turn back when the clock does.
    bool mayGoBack() const noexcept { return mayGoBack_; }
    Clock::TimePoint now() const noexcept { return clock_.now(); }

    /// A caller's reading: now, or not long before.
    Clock::TimePoint callersNow() const noexcept {
        if (callers_ == Reading::recent) return SteadyTime::recent();
        return callers_ == Reading::exact ? clock_.now() : clock_.coarseNow();
    }
    /// A caller's reading, and the time point that is meant, or when the delay has passed since for
    /// sure. A delay that is not positive is over then.
    struct Delayed {
        Clock::TimePoint now;
        Clock::TimePoint deadline;
    };
    Delayed after(When when) const noexcept {
        Clock::TimePoint const now = callersNow();
        if (!when.isTimePoint()) return {now, after(now, when.delay())};
        // A reading that is behind must not take what has just passed for what is to come.
        bool const isNear = when.timePoint() > now && when.timePoint() <= timeAfter(now, margin_);
        return {isNear ? clock_.now() : now, when.timePoint()};
    }
    /// The same of a delay for a hook, whose timer may have stopped: `now` is when, then.
    Delayed afterOrFrozen(Duration delay) const noexcept {
        Clock::TimePoint const now = callersNowOrFrozen();
        return {now, after(now, delay)};
    }
    Clock::TimePoint callersNowOrFrozen() const noexcept {
        if (callers_ != Reading::recent) return readOrFrozen(callers_);
        return isFrozen() ? frozenAt_ : SteadyTime::recent();
    }

    /// For stop(): keeps the time, and waits for threads that are reading the clock. Afterwards the
    /// clock may be destroyed.
    void freeze() noexcept;
    /// The time, or the time at which the clock was frozen.
    Clock::TimePoint nowOrFrozen() const noexcept { return readOrFrozen(Reading::exact); }
    bool isFrozen() const noexcept { return isFrozen_.load(std::memory_order_acquire); }

private:
    Clock::TimePoint after(Clock::TimePoint now, Duration delay) const noexcept {
        std::chrono::nanoseconds length = delay.nanoseconds();
        if (length.count() > 0)
            length = std::min(length, std::chrono::nanoseconds::max() - margin_) + margin_;
        return timeAfter(now, length);
    }
    /// REQUIRES: not a recent reading.
    Clock::TimePoint readOrFrozen(Reading reading) const noexcept;

    Clock& clock_;
    bool const mayGo_;
    bool const neverGoesBack_;
    bool const mayGoBack_;
    Reading const callers_;
    std::chrono::nanoseconds const margin_;
    mutable std::atomic<int> askers_{0};
    std::atomic<bool> isFrozen_{false};
    Clock::TimePoint frozenAt_{};  // written before isFrozen_
};

}  // namespace timingwheel::inline v1::detail
