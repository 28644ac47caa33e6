#pragma once

#include <timingwheel/Clock.h>

#include <atomic>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// A timer's clock, and the time at which it was frozen. A clock other than the steady one may be
/// destroyed as soon as its timer has stopped, while hooks and handles outlive both.
///
/// Thread safety  any number of threads; freeze() once
class TimerClock {
public:
    explicit TimerClock(Clock& clock) noexcept
        : clock_{clock}, mayGo_{&clock != &Clock::steady()} {}
    TimerClock(TimerClock const&) = delete;
    TimerClock& operator=(TimerClock const&) = delete;

    /// REQUIRES: not frozen yet, as for all but the last three functions.
    Clock& get() const noexcept { return clock_; }
    bool isSteady() const noexcept { return !mayGo_; }
    Clock::TimePoint now() const noexcept { return clock_.now(); }

    /// For stop(): keeps the time, and waits for threads that are reading the clock. Afterwards the
    /// clock may be destroyed.
    void freeze() noexcept;
    /// The time, or the time at which the clock was frozen.
    Clock::TimePoint nowOrFrozen() const noexcept;
    bool isFrozen() const noexcept { return isFrozen_.load(std::memory_order_acquire); }

private:
    Clock& clock_;
    bool const mayGo_;
    mutable std::atomic<int> askers_{0};
    std::atomic<bool> isFrozen_{false};
    Clock::TimePoint frozenAt_{};  // written before isFrozen_
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
