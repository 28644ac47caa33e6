#pragma once

#include "core/base/TimeArithmetic.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>
#include <timingwheel/When.h>

#include <atomic>
#include <chrono>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// A timer's clock, and the time at which it was frozen. A clock other than the steady one may be
/// destroyed as soon as its timer has stopped, while hooks and handles outlive both.
///
/// Thread safety  any number of threads; freeze() once
class TimerClock {
public:
    /// Callers count delays from the clock's coarse reading if `isCoarse`; then `margin` is added.
    TimerClock(Clock& clock, bool isCoarse, std::chrono::nanoseconds margin) noexcept
        : clock_{clock},
          mayGo_{&clock != &Clock::steady()},
          mayGoBack_{clock.kind() == Clock::Kind::wall},
          isCoarse_{isCoarse},
          margin_{margin} {}
    TimerClock(TimerClock const&) = delete;
    TimerClock& operator=(TimerClock const&) = delete;

    /// REQUIRES: not frozen yet, as for now(), callersNow() and after().
    Clock& get() const noexcept { return clock_; }
    bool isSteady() const noexcept { return !mayGo_; }
    /// True if the wheels must turn back when the clock does.
    bool mayGoBack() const noexcept { return mayGoBack_; }
    Clock::TimePoint now() const noexcept { return clock_.now(); }

    /// A caller's reading: now, or not long before.
    Clock::TimePoint callersNow() const noexcept {
        return isCoarse_ ? clock_.coarseNow() : clock_.now();
    }
    /// A caller's reading, and the time point that is meant, or when the delay has passed since for
    /// sure. A delay that is not positive is over then.
    struct Delayed {
        Clock::TimePoint now;
        Clock::TimePoint deadline;
    };
    Delayed after(When when) const noexcept {
        if (when.isTimePoint()) return {callersNow(), when.timePoint()};
        if (isCoarse_) [[unlikely]]
            return coarselyAfter(clock_.coarseNow(), when.delay());
        Clock::TimePoint const now = clock_.now();
        return {now, timeAfter(now, when.delay().nanoseconds())};
    }
    /// The same of a delay for a hook, whose timer may have stopped: `now` is when, then.
    Delayed afterOrFrozen(Duration delay) const noexcept {
        if (isCoarse_) [[unlikely]]
            return coarselyAfter(coarseNowOrFrozen(), delay);
        Clock::TimePoint const now = nowOrFrozen();
        return {now, timeAfter(now, delay.nanoseconds())};
    }
    Clock::TimePoint callersNowOrFrozen() const noexcept {
        return isCoarse_ ? coarseNowOrFrozen() : nowOrFrozen();
    }

    /// For stop(): keeps the time, and waits for threads that are reading the clock. Afterwards the
    /// clock may be destroyed.
    void freeze() noexcept;
    /// The time, or the time at which the clock was frozen.
    Clock::TimePoint nowOrFrozen() const noexcept;
    bool isFrozen() const noexcept { return isFrozen_.load(std::memory_order_acquire); }

private:
    Delayed coarselyAfter(Clock::TimePoint now, Duration delay) const noexcept;
    Clock::TimePoint coarseNowOrFrozen() const noexcept;
    template <class Read>
    Clock::TimePoint unlessFrozen(Read&& read) const noexcept;

    Clock& clock_;
    bool const mayGo_;
    bool const mayGoBack_;
    bool const isCoarse_;
    std::chrono::nanoseconds const margin_;
    mutable std::atomic<int> askers_{0};
    std::atomic<bool> isFrozen_{false};
    Clock::TimePoint frozenAt_{};  // written before isFrozen_
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
