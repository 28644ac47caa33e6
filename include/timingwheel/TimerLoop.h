#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/detail/platform/export.h>

namespace timingwheel {
inline namespace v1 {

/// What a ManualTimer tells the event loop that drives it.
///
/// A loop that asks nextExpiration() right before it waits does not need this if the timer is used
/// only on its thread, between two waits. It does if the timer may be used while it waits: by other
/// threads under a lock, or by code that cannot know the loop.
///
///     class Loop final : public timingwheel::TimerLoop {
///         void onEarlier(TimePoint) noexcept override { eventfd_write(wake_, 1); }
///         ...
///         timingwheel::ManualTimer timer_{{.loop = this}};
///
/// - The timer calls `onEarlier` once for each expiration that is earlier than what the loop knows:
///   the last answer of nextExpiration() or pollTimeout(), or a later onEarlier. A schedule, or a
///   reschedule of a handle or hook, thus causes no call if the loop wakes in time anyway.
/// - From the start of advanceTo until the loop asks, `onEarlier` is not called.
/// - The timer calls `onIdle` once each time the last pending timeout ends, whatever ended it: its
///   run, a cancel, the death of its hook, stop(), the timer's destructor. During advanceTo the
///   call waits for the end, and is left out if something is pending again by then. Only if a task
///   destroys the timer does it come at once, in the destructor.
///
/// No call says that something is pending again: only a call of your own can cause that.
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
