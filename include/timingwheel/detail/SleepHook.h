#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/When.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <atomic>

namespace timingwheel::inline v1::detail {

/// The hook of a Sleep or of a TimedOperation, and what ends it: the expiry, a stop, or the timer
/// that gives it up. The first of them wins.
///
/// Derive `Sleeper` from it: its `goOn()` is called once, as the timer's task or by the thread
/// that gave the hook up, and may destroy it.
template <class Sleeper>
class SleepHook {
protected:
    SleepHook(WheelTimer& timer, When when) noexcept : timer_{timer}, when_{when} {}
    /// REQUIRES: `other` was not scheduled.
    SleepHook(SleepHook const& other) noexcept : SleepHook{other.timer_, other.when_} {}
    SleepHook& operator=(SleepHook const&) = delete;
    ~SleepHook() = default;

    /// From here on the sleep may be over at any moment; but goOn() is not called before
    /// isAsleep().
    void schedule() {
        state_.store(0, std::memory_order_relaxed);
        detail::schedule(timer_, hook_, when_);
    }
    /// False if the sleep is over already: goOn() is not called. Otherwise this may be gone when it
    /// returns.
    bool isAsleep() noexcept {
        return (state_.fetch_or(kAsleep, std::memory_order_acq_rel) & kOver) == 0;
    }
    /// After isAsleep() was false: goOn() is called all the same, as the timer's task.
    void scheduleAtOnce() { detail::schedule(timer_, hook_, (Clock::TimePoint::min)()); }

    /// For a token that was stopped before anything was scheduled.
    void setStopped() noexcept { state_.store(kStopped | kOver, std::memory_order_relaxed); }
    /// The token was stopped: wins unless the sleep is over. It is due at once then.
    void stop() noexcept {
        unsigned state = state_.load(std::memory_order_relaxed);
        while ((state & kOver) == 0) {
            if (!state_.compare_exchange_weak(state, state | kStopped, std::memory_order_acq_rel))
                continue;
            // Last: the task may run meanwhile, and destroy this.
            hook_.reschedule((Clock::TimePoint::min)());
            return;
        }
    }

    // How it ended. REQUIRES: it is over.
    bool wasStopped() const noexcept { return has(kStopped); }
    bool wasGivenUp() const noexcept { return has(kGivenUp); }

private:
    enum State : unsigned { kAsleep = 1, kOver = 2, kStopped = 4, kGivenUp = 8 };

    static void expire(void* self) { static_cast<SleepHook*>(self)->end(kOver); }
    static void giveUp(void* self) { static_cast<SleepHook*>(self)->end(kOver | kGivenUp); }
    static constexpr HookOperations kOperations{{true}, &expire, &giveUp};

    struct Hook final : TimerHookBase {
        explicit Hook(SleepHook& self) noexcept : TimerHookBase{kOperations, &self} {}
    };

    /// The caller has read kOver by a fetch_or, which acquired.
    bool has(State flag) const noexcept {
        return (state_.load(std::memory_order_relaxed) & flag) != 0;
    }
    void end(unsigned how) {
        if ((state_.fetch_or(how, std::memory_order_acq_rel) & kAsleep) != 0)
            static_cast<Sleeper&>(*this).goOn();
    }

    WheelTimer& timer_;
    When when_;
    std::atomic<unsigned> state_{0};
    Hook hook_{*this};  // the last: it goes first
};

}  // namespace timingwheel::inline v1::detail
