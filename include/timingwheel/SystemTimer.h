#pragma once

#include <timingwheel/WheelTimer.h>
#include <timingwheel/detail/platform/CacheLine.h>
#include <timingwheel/detail/platform/export.h>

namespace timingwheel::inline v1 {

/// A thread-safe timer for thousands to a hundred million timeouts, most of which are cancelled or
/// pushed back before they fire: request timeouts, heartbeats, idle connections, sessions, orders.
///
///     timingwheel::SystemTimer timer;                    // 1 ms x 20 slots a level
///     auto timeout = timer.newTimeout([] { std::puts("timed out"); }, 30s);
///     timeout.cancel();
///
/// Scheduling and cancelling take the same number of steps however many timeouts are pending. They
/// briefly lock one of several hierarchical timing wheels (see RawTimingWheel), over which the
/// threads are spread. One driver thread, which the first schedule starts, sleeps until the
/// earliest bucket of any wheel expires. Then it moves the bucket's entries down or runs them.
/// While nothing is pending it does not wake.
///
/// It has newTimeout, stop and pending from Timer, and from WheelTimer all else: hooks, periodic
/// tasks, sleeps, reschedule, cancelAll, statistics.
///
/// Tasks run on the driver thread unless an executor is given. A task that blocks belongs on one.
/// Not offered: deadlines that survive the process (see store::DurableTimer).
///
/// Order          inline, no task starts before one with an earlier deadline tick, if that one was
///                accepted before the later one was taken out to run; within a tick, none
/// Complexity     schedule, cancel, reschedule O(levels), about log_wheelSize of the delay in ticks
/// Memory         48 bytes plus the task for a handle, 48 bytes in all for a hook; freed as soon as
///                the timeout is cancelled or has run, but a thread that schedules keeps up to
///                1,024 blocks of at most 104 bytes for its next timeouts. The timer object fills
///                one cache line, so that writes to its neighbours do not slow its users down
/// Thread safety  every function from any thread, also from inside a task except stop and drain
/// Lifetime       clock, executor and observer must outlive it; handles, hooks and stopped timeouts
///                may outlive it. After fork() a child must not use its parent's timer
/// Errors         thrown before anything has changed; what tasks throw goes to the error handler
///
/// Source: the structure and its names are those of Apache Kafka's SystemTimer.
class TIMINGWHEEL_API SystemTimer final : private detail::OnACacheLine, public WheelTimer {
public:
    /// Throws std::invalid_argument that names the option, its value and the bound; and what the
    /// clock's makeWaiter throws.
    explicit SystemTimer(TimerOptions options = {});

    /// Stops. Drops what is pending and waits for tasks that run, except the one that destroys the
    /// timer.
    ~SystemTimer() override;

    /// Starts the driver thread; otherwise the first schedule does. Throws what the thread factory
    /// throws; the timer stays usable and a later call tries again.
    void start();

    /// Accepts nothing more, waits until everything pending has run, however long that takes, and
    /// stops. What is pending may still be moved. A periodic task runs once more. Throws
    /// std::logic_error from inside a task.
    void drain();
};

}  // namespace timingwheel::inline v1
