#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/detail/platform/export.h>

namespace timingwheel {
inline namespace v1 {

/// An event loop that drives a ManualTimer: what the timer tells it.
///
/// A loop that asks nextExpiration() right before it waits needs none of this if all else happens
/// on its own thread, between two waits. It does if somebody may use the timer while it waits:
/// other threads under a lock, or code that cannot know the loop.
///
///     class Loop final : public timingwheel::TimerLoop {
///         void onEarlier(TimePoint) noexcept override { eventfd_write(wake_, 1); }
///         ...
///         timingwheel::ManualTimer timer_{{.loop = this}};
///
/// - `onEarlier` comes once for each expiration that is earlier than what the loop knows: than the
///   last answer of nextExpiration() or pollTimeout(), or the last onEarlier if that came since. So
///   it comes for a schedule and for a reschedule of a handle or hook, but not if the loop wakes in
///   time anyway.
/// - From the beginning of advanceTo until it asks, the loop is told of nothing earlier.
/// - `onIdle` comes once each time that the last pending timeout ends, whatever ended it: its run,
///   a cancel, the death of its hook, stop(), the timer's destructor. During advanceTo it waits for
///   the end of that call, and is left out if something is pending again by then. Only if a task
///   destroys the timer does it come at once, in the destructor.
///
/// Nothing says that something is pending again: that is a call of the user's own.
///
/// Thread safety  called on the thread that used the timer, before that call returns, without any
///                lock of the timer's. It may question the timer, but do nothing else with it,
///                nor move its ManualClock
/// Lifetime       must outlive the timer
/// Errors         must not throw
class TIMINGWHEEL_API TimerLoop {
public:
    using TimePoint = Clock::TimePoint;

    TimerLoop() = default;
    virtual ~TimerLoop();
    TimerLoop(TimerLoop const&) = delete;
    TimerLoop& operator=(TimerLoop const&) = delete;

    /// advanceTo must be called at `expiration`, which may have passed already.
    virtual void onEarlier(TimePoint expiration) noexcept = 0;
    /// Nothing is pending any more.
    virtual void onIdle() noexcept {}
};

}  // namespace v1
}  // namespace timingwheel
