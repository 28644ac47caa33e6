#pragma once

#include "base/TimeArithmetic.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>

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
        : clock_{clock}, mayGo_{&clock != &Clock::steady()}, isCoarse_{isCoarse}, margin_{margin} {}
    TimerClock(TimerClock const&) = delete;
    TimerClock& operator=(TimerClock const&) = delete;

    /// REQUIRES: not frozen yet, as for all but the last three functions.
    Clock& get() const noexcept { return clock_; }
    bool isSteady() const noexcept { return !mayGo_; }
    Clock::TimePoint now() const noexcept { return clock_.now(); }

    /// A caller's reading: now, or not long before. It never brings a deadline forward: see
    /// deadlineAfter().
    Clock::TimePoint callersNow() const noexcept {
        return isCoarse_ ? clock_.coarseNow() : clock_.now();
    }
    Clock::TimePoint callersNowOrFrozen() const noexcept;
    /// When `delay` has passed for sure since the time that a caller read as `callersNow`. A delay
    /// that is not positive is over then.
    Clock::TimePoint deadlineAfter(Clock::TimePoint callersNow, Duration delay) const noexcept {
        Clock::TimePoint const deadline = timeAfter(callersNow, delay.nanoseconds());
        return isCoarse_ && delay.count() > 0 ? timeAfter(deadline, margin_) : deadline;
    }

    /// For stop(): keeps the time, and waits for threads that are reading the clock. Afterwards the
    /// clock may be destroyed.
    void freeze() noexcept;
    /// The time, or the time at which the clock was frozen.
    Clock::TimePoint nowOrFrozen() const noexcept;
    bool isFrozen() const noexcept { return isFrozen_.load(std::memory_order_acquire); }

private:
    template <class Read>
    Clock::TimePoint unlessFrozen(Read&& read) const noexcept;

    Clock& clock_;
    bool const mayGo_;
    bool const isCoarse_;
    std::chrono::nanoseconds const margin_;
    mutable std::atomic<int> askers_{0};
    std::atomic<bool> isFrozen_{false};
    Clock::TimePoint frozenAt_{};  // written before isFrozen_
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
