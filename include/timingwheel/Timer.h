#pragma once

#include <timingwheel/Duration.h>
#include <timingwheel/RejectedExecution.h>
#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/Timeout.h>
#include <timingwheel/TimerTask.h>
#include <timingwheel/detail/Mistakes.h>
#include <timingwheel/detail/TaskOperations.h>
#include <timingwheel/detail/platform/export.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace timingwheel {
inline namespace v1 {

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

    /// Runs `task` once, when `delay` has passed: never earlier, and at most one tick plus the
    /// wake-up latency later.
    ///
    /// - Zero and negative delays are due at once (in a HashedWheelTimer: at the next tick).
    /// - A delay that the clock cannot express means never.
    /// - You may drop the handle: the task still runs.
    ///
    /// Throws, and then nothing has changed:
    ///
    /// - std::invalid_argument for an empty task or a NaN delay;
    /// - RejectedExecution at the limit of pending timeouts;
    /// - std::logic_error once the timer was stopped;
    /// - std::system_error if the driver thread cannot be started;
    /// - std::bad_alloc, and what moving the task throws.
    template <SchedulableTask Task>
    Timeout newTimeout(Task task, Duration delay) {
        return accept(sourceOf(task), delay);
    }

    /// Runs `function` on the object if that still lives when the timeout is due; otherwise does
    /// nothing. `function` takes a T&, or is a member function of T. Of a std::shared_ptr the timer
    /// keeps no more than a weak reference. Throws std::invalid_argument if it is null.
    template <class T, std::invocable<T&> Function>
    Timeout newTimeout(std::weak_ptr<T> object, Function function, Duration delay) {
        return newTimeout(onLiving(std::move(object), std::move(function)), delay);
    }
    template <class T, std::invocable<T&> Function>
    Timeout newTimeout(std::shared_ptr<T> const& object, Function function, Duration delay) {
        return newTimeout(weakly(object), std::move(function), delay);
    }

    /// Does not compile: says what is wrong with the task.
    template <class Task, class... Rest>
        requires detail::NotATask<Task>
    Timeout newTimeout(Task const&, Rest const&...) {
        detail::explain<std::decay_t<Task>>();
        return {};
    }

    /// Stops the timer: it accepts nothing more and runs nothing more. One caller gets what was
    /// pending; any other gets an empty range. Every caller waits until no task runs (in a
    /// HashedWheelTimer only the one that gets the tasks). Throws std::logic_error from inside a
    /// task of this timer.
    virtual StoppedTimeouts stop() = 0;

    /// Accepted timeouts whose task was neither entered nor cancelled, including those that wait in
    /// an executor's queue. A HashedWheelTimer counts as Netty does. O(shards).
    virtual std::size_t pendingTimeouts() const = 0;

protected:
    Timer() = default;

    template <class Task>
    static detail::TaskSource sourceOf(Task& task) {
        if (detail::isEmptyTask(task)) throwEmptyTask();
        return {&detail::kTaskOperations<Task>, std::addressof(task)};
    }

    template <class T, class Function>
    static auto onLiving(std::weak_ptr<T> object, Function function) {
        if (detail::isEmptyTask(function)) throwEmptyTask();
        return [object = std::move(object), function = std::move(function)]() mutable {
            if (auto const living = object.lock()) std::invoke(function, *living);
        };
    }

    template <class T>
    static std::weak_ptr<T> weakly(std::shared_ptr<T> const& object) {
        if (object == nullptr) throwNullObject();
        return object;
    }

private:
    [[noreturn]] static void throwEmptyTask();
    [[noreturn]] static void throwNullObject();
    virtual Timeout accept(detail::TaskSource task, Duration delay) = 0;
};

}  // namespace v1
}  // namespace timingwheel
