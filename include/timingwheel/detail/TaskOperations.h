#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Timeout.h>
#include <timingwheel/TimerTask.h>
#include <timingwheel/detail/platform/export.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace timingwheel::inline v1 {
namespace detail {

/// The beginning of both kinds of entries' tables of operations.
struct EntryOperations {
    bool isHook;
};

/// What a timer can do with a task whose type it does not know.
struct TaskOperations : EntryOperations {
    std::size_t size;
    std::size_t alignment;
    /// Moves the task into raw memory. May throw.
    void (*construct)(void* to, void* from);
    /// May throw what the task's destructor throws; null if that does nothing.
    void (*destroy)(void* task);
    void (*run)(void* task, Timeout const& timeout);
    /// Null if the task has no cancelled().
    void (*cancelled)(void* task, Timeout const& timeout);
    /// The TimerTask object; null if the task is a callable.
    std::shared_ptr<TimerTask> (*shared)(void const* task);
    /// The first time of its series that is later than `time`, if there is one. Null if the task
    /// does not compute its times.
    std::optional<Clock::TimePoint> (*timeAfter)(void* task, Clock::TimePoint time);
    /// The tag that `tagged` was given. Null if the task has none.
    void const* (*tag)(void const* task);
};

/// A task on its way into a timer: a type-erased reference to the caller's object.
struct TaskSource {
    TaskOperations const* operations;
    void* task;
};

template <class T>
inline constexpr bool kIsSharedTask = false;
template <std::derived_from<TimerTask> T>
inline constexpr bool kIsSharedTask<std::shared_ptr<T>> = true;

template <class Task>
void runTask(void* target, Timeout const& timeout) {
    Task& task = *static_cast<Task*>(target);
    if constexpr (kIsSharedTask<Task>) {
        task->run(timeout);
    } else if constexpr (std::invocable<Task&, Timeout const&>) {
        static_cast<void>(std::invoke(task, timeout));
    } else {
        static_cast<void>(std::invoke(task));
    }
}

template <class Task>
concept HearsOfCancelling =
    requires(Task& task, Timeout const& timeout) { task.cancelled(timeout); };

/// A variable: with -fsanitize=undefined g++ compares no operation with null in a constraint.
template <class Task>
inline constexpr bool kHasCancelled = kIsSharedTask<Task> || HearsOfCancelling<Task>;

template <class Task>
consteval auto cancelledOperation() -> void (*)(void*, Timeout const&) {
    if constexpr (kIsSharedTask<Task>) {
        return [](void* task, Timeout const& timeout) {
            (*static_cast<Task*>(task))->cancelled(timeout);
        };
    } else if constexpr (HearsOfCancelling<Task>) {
        return [](void* task, Timeout const& timeout) {
            static_cast<Task*>(task)->cancelled(timeout);
        };
    } else {
        return nullptr;
    }
}

template <class Task>
consteval auto destroyOperation() -> void (*)(void*) {
    if constexpr (std::is_trivially_destructible_v<Task>) {
        return nullptr;
    } else {
        return [](void* task) { static_cast<Task*>(task)->~Task(); };
    }
}

/// What `tagged` makes of a task.
template <class Task>
struct TaggedTask;

/// It is a TimerTask object.
template <class Task>
inline constexpr bool kIsTaggedSharedTask = false;
template <class Task>
inline constexpr bool kIsTaggedSharedTask<TaggedTask<Task>> =
    kIsSharedTask<Task> || kIsTaggedSharedTask<Task>;

template <class Task>
consteval auto sharedOperation() -> std::shared_ptr<TimerTask> (*)(void const*) {
    if constexpr (kIsSharedTask<Task>) {
        return [](void const* task) -> std::shared_ptr<TimerTask> {
            return *static_cast<Task const*>(task);
        };
    } else if constexpr (kIsTaggedSharedTask<Task>) {
        return [](void const* task) -> std::shared_ptr<TimerTask> {
            auto const& inner = static_cast<Task const*>(task)->task;
            return sharedOperation<std::remove_cvref_t<decltype(inner)>>()(&inner);
        };
    } else {
        return nullptr;
    }
}

/// True for a null function pointer, an empty std::function, a null shared_ptr.
template <class Task>
bool isEmptyTask(Task const& task) {
    if constexpr (requires { task == nullptr; }) {
        return task == nullptr;
    } else {
        return false;
    }
}

[[noreturn]] TIMINGWHEEL_API void throwEmptyTask();
[[noreturn]] TIMINGWHEEL_API void throwEmptyTimeAfter();
[[noreturn]] TIMINGWHEEL_API void throwNullObject();

/// A task with the function that computes when it runs: see `scheduleAtTimes`.
template <class Task, class TimeAfter>
struct TaskAtTimes {
    void operator()(Timeout const& timeout) { runTask<Task>(&task, timeout); }
    void cancelled(Timeout const& timeout)
        requires(kHasCancelled<Task>)
    {
        cancelledOperation<Task>()(&task, timeout);
    }
    friend bool operator==(TaskAtTimes const& both, std::nullptr_t) noexcept {
        return isEmptyTask(both.task);
    }
    void const* tag() const noexcept { return task.tag(); }

    Task task;
    TimeAfter timeAfter;
};

template <class Task>
inline constexpr bool kComputesItsTimes = false;
template <class Task, class TimeAfter>
inline constexpr bool kComputesItsTimes<TaskAtTimes<Task, TimeAfter>> = true;

template <class Task>
consteval auto timeAfterOperation()
    -> std::optional<Clock::TimePoint> (*)(void*, Clock::TimePoint) {
    if constexpr (kComputesItsTimes<Task>) {
        return [](void* task, Clock::TimePoint time) -> std::optional<Clock::TimePoint> {
            return std::invoke(static_cast<Task*>(task)->timeAfter, time);
        };
    } else {
        return nullptr;
    }
}

/// A task and its tag.
template <class Task>
struct TaggedTask {
    void operator()(Timeout const& timeout) { runTask<Task>(&task, timeout); }
    void cancelled(Timeout const& timeout)
        requires(kHasCancelled<Task>)
    {
        cancelledOperation<Task>()(&task, timeout);
    }
    friend bool operator==(TaggedTask const& both, std::nullptr_t) noexcept {
        return isEmptyTask(both.task);
    }
    void const* tag() const noexcept { return itsTag; }

    Task task;
    void const* itsTag;
};

/// The task, or one that it was made of, is tagged.
template <class Task>
inline constexpr bool kHasTag = false;
template <class Task>
inline constexpr bool kHasTag<TaggedTask<Task>> = true;
template <class Task, class TimeAfter>
inline constexpr bool kHasTag<TaskAtTimes<Task, TimeAfter>> = kHasTag<Task>;

template <class Task>
consteval auto tagOperation() -> void const* (*)(void const*) {
    if constexpr (kHasTag<Task>) {
        return [](void const* task) { return static_cast<Task const*>(task)->tag(); };
    } else {
        return nullptr;
    }
}

template <class Task>
inline constexpr TaskOperations kTaskOperations{
    {false},
    sizeof(Task),
    alignof(Task),
    [](void* to, void* from) { ::new (to) Task(std::move(*static_cast<Task*>(from))); },
    destroyOperation<Task>(),
    &runTask<Task>,
    cancelledOperation<Task>(),
    sharedOperation<Task>(),
    timeAfterOperation<Task>(),
    tagOperation<Task>(),
};

template <class Task>
TaskSource sourceOf(Task& task) {
    if (isEmptyTask(task)) throwEmptyTask();
    return {&kTaskOperations<Task>, std::addressof(task)};
}

/// True for what `untilStopped` returns: see StopToken.h.
template <class Task>
inline constexpr bool kIsUntilStopped = false;

}  // namespace detail

/// What can be scheduled:
///
/// - a callable that takes nothing or a `Timeout const&`; it may be move-only. If it has a member
///   `cancelled(Timeout const&)`, that is called when the timeout is cancelled;
/// - a std::shared_ptr of a `TimerTask`;
/// - either of them with a stop token: what `untilStopped` returns.
template <class Task>
concept SchedulableTask =
    std::same_as<Task, std::remove_cvref_t<Task>> && std::is_move_constructible_v<Task> &&
    (detail::kIsSharedTask<Task> || std::invocable<Task&> ||
     std::invocable<Task&, Timeout const&> || detail::kIsUntilStopped<Task>);

/// What computes the times of a series: called with a time, it returns the first later one, as a
/// Clock::TimePoint or a std::optional of it.
template <class Function>
concept TimeAfterFunction =
    std::is_move_constructible_v<Function> && std::invocable<Function&, Clock::TimePoint> &&
    std::convertible_to<std::invoke_result_t<Function&, Clock::TimePoint>,
                        std::optional<Clock::TimePoint>>;

}  // namespace timingwheel::inline v1
