#pragma once

#include <timingwheel/WheelTimer.h>
#include <timingwheel/detail/OnACacheLine.h>
#include <timingwheel/export.h>

namespace timingwheel {
inline namespace v1 {

/// A thread-safe timer for thousands to a hundred million timeouts, most of which are cancelled or
/// pushed back before they fire: request timeouts, heartbeats, idle connections, sessions, orders.
///
///     timingwheel::SystemTimer timer;                    // 1 ms x 20 slots a level
///     auto timeout = timer.newTimeout([] { std::puts("timed out"); }, 30s);
///     timeout.cancel();
///
/// Scheduling and cancelling cost the same however many are pending: a short lock of one of several
/// hierarchical timing wheels (see TimingWheelBase), among which the threads are spread. One driver
/// thread sleeps until the earliest bucket of any wheel expires, moves its entries down a level or
/// runs them; while nothing is due it does not wake. It is started by the first schedule.
///
/// Tasks run on the driver thread unless an executor is given; a task that blocks belongs on one.
/// What it does not do: wall-clock and calendar times; deadlines that survive the process.
///
/// Order          inline, no task starts before one with an earlier deadline tick that was accepted
///                before the later one was taken out for running; within a tick none is promised
/// Complexity     schedule, cancel, reschedule O(levels), about log_wheelSize of the delay in ticks
/// Memory         48 bytes and the task for each handle, 48 for each hook in all; cancelled and
///                expired ones are freed at once. The timer is one cache line: what its owner
///                writes beside it does not slow down the threads that use it
/// Thread safety  every function from any thread, also from inside a task but for stop and drain
/// Lifetime       clock, executor and observer outlive it; handles, hooks, stopped timeouts need
///                not die before it. After fork() a child must not use a timer of its parent
/// Errors         thrown before anything changed; what tasks throw goes to the error handler
///
/// Source: the structure and its names are those of Apache Kafka's SystemTimer.
class TIMINGWHEEL_API SystemTimer final : private detail::OnACacheLine, public WheelTimer {
public:
    /// Throws std::invalid_argument that names the option, its value and the bound.
    explicit SystemTimer(TimerOptions options = {});

    /// Stops. What is pending is dropped; what runs is waited for, unless it is the task that
    /// destroys the timer.
    ~SystemTimer() override;

    /// Starts the driver thread, which the first schedule would otherwise do. Throws what the
    /// thread factory throws; the timer stays usable and a later call tries again.
    void start();

    /// Stops patiently: accepts nothing more, lets all that is pending run, however long that
    /// takes, then stops. A periodic task runs once more. Throws std::logic_error from inside a
    /// task.
    void drain();
};

}  // namespace v1
}  // namespace timingwheel
