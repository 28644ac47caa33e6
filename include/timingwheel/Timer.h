#pragma once

#include <timingwheel/Duration.h>
#include <timingwheel/PendingTimeout.h>
#include <timingwheel/RejectedExecution.h>
#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/Timeout.h>
#include <timingwheel/TimerOptions.h>
#include <timingwheel/TimerTask.h>
#include <timingwheel/When.h>
#include <timingwheel/detail/FoundTimeout.h>
#include <timingwheel/detail/Mistakes.h>
#include <timingwheel/detail/TaskOperations.h>
#include <timingwheel/detail/platform/export.h>
#include <timingwheel/ifAlive.h>

#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace timingwheel::inline v1 {

class TIMINGWHEEL_API Timer;

namespace detail {

/// Calls `accept` with what `timer` is to keep of the task.
template <class Task, class Accept>
Timeout withTask(Timer& timer, Task& task, Accept&& accept) {
    if constexpr (kIsUntilStopped<Task>)
        return task.schedule(timer, accept);
    else if constexpr (kIsTask<Task>)
        return accept(task);
    else
        return {};
}

}  // namespace detail

/// Schedules one-shot tasks: the common interface of all timers here. A program, a test or a
/// benchmark written against it runs on any of them.
///
///     timingwheel::Timeout timeout = timer.newTimeout([] { std::puts("too late"); }, 30s);
///     if (timeout.cancel()) std::puts("in time");
///
/// Thread safety  every function from any thread, and from inside a task unless it says otherwise
///                (a ManualTimer: from one thread at a time)
/// Lifetime       handles and stopped timeouts may outlive the timer
class TIMINGWHEEL_API Timer {
public:
    virtual ~Timer();
    Timer(Timer const&) = delete;
    Timer& operator=(Timer const&) = delete;

    /// Runs `task` once, when its time has come: never earlier, and later by at most 1.1 ticks, the
    /// tolerance and the wake-up latency (with `coarseClock` see `coarseMargin`). `when` is a delay
    /// or a time point of the timer's clock: see When.
    ///
    /// - A task is a callable that takes nothing or a `Timeout const&`, and may be move-only; or a
    ///   std::shared_ptr of a TimerTask. If it has a member `cancelled(Timeout const&)`, that is
    ///   called when the timeout is cancelled.
    /// - Zero and negative delays are due at once (in a HashedWheelTimer: at the next tick).
    /// - A time that the clock cannot express means never.
    /// - You may drop the handle: the task still runs.
    /// - `ifAlive(object, function)` makes a task for an object that may die first,
    ///   `untilStopped(token, task)` one that a std::stop_token cancels.
    ///
    /// Throws, and then nothing has changed:
    ///
    /// - std::invalid_argument for an empty task, a NaN delay or a negative tolerance;
    /// - RejectedExecution at the limit of pending timeouts;
    /// - std::logic_error once the timer was stopped;
    /// - std::system_error, or what a thread factory throws, if the driver thread cannot start;
    /// - std::bad_alloc, and what moving the task throws.
    template <class Task, class Time = When>
    Timeout newTimeout(Task task, Time when, TimeoutOptions options = {}) {
        detail::requireTask<Task, Time>();
        return detail::withTask(*this, task, [&](auto& accepted) {
            return accept(detail::sourceOf(accepted), detail::toWhen(when), options);
        });
    }

    /// Stops the timer: it accepts nothing more and runs nothing more. One caller gets what was
    /// pending; any other gets an empty range. Every caller waits until no task runs (in a
    /// HashedWheelTimer only the one that gets the tasks). Throws std::logic_error from inside a
    /// task of this timer. O(pending + slots); allocates nothing.
    virtual StoppedTimeouts stop() = 0;

    /// Accepted timeouts whose task was neither entered nor cancelled, including those that wait in
    /// an executor's queue. A HashedWheelTimer counts as Netty does. O(shards).
    virtual std::size_t pendingTimeouts() const = 0;

    /// Calls `visit(timeout)` for each pending timeout, in no order, while the timer runs:
    ///
    ///     timer.pending([](timingwheel::PendingTimeout const& timeout) { ... });
    ///
    /// - A timeout that is pending from before the call until after it, and is not moved meanwhile,
    ///   is visited exactly once. One that is accepted, moved, run or ended meanwhile is visited
    ///   once or not at all.
    /// - `visit` is called on this thread with no lock held. It may use the timer, this function
    ///   too, but not destroy it; from a stopped timer it gets nothing. If it returns false, the
    ///   call ends. What it throws passes to the caller.
    /// - No lock that others need is held for more than 256 timeouts, or 4,096 empty slots. Nothing
    ///   changes in the timer but the order within a tick, which nobody promises.
    ///
    /// Complexity  O(n log n + slots) for n pending timeouts
    /// Memory      48 bytes for each pending timeout of one shard at a time, three times that while
    ///             the array grows, and about 40 for each in a bucket that holds more than 256
    /// Errors      std::invalid_argument for an empty std::function; std::bad_alloc
    template <std::invocable<PendingTimeout const&> Visit>
    void pending(Visit&& visit) const {
        if (detail::isEmptyTask(visit)) detail::throwEmptyVisitor();
        std::vector<detail::FoundTimeout> found;
        for (std::size_t part = 0; findPending(part, found); ++part)
            for (PendingTimeout const& timeout : found)
                if (!detail::goesOn(visit, timeout)) return;
    }

protected:
    Timer() = default;

private:
    virtual Timeout accept(detail::TaskSource task, When when, TimeoutOptions options) = 0;
    /// Makes `found` what is pending in one part of the timer. Returns false behind the last part.
    virtual bool findPending(std::size_t part, std::vector<detail::FoundTimeout>& found) const = 0;
};

}  // namespace timingwheel::inline v1
