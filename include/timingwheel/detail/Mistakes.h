#pragma once

#include <timingwheel/detail/TaskOperations.h>

#include <chrono>
#include <concepts>
#include <memory>
#include <type_traits>

/// What is wrong with a call that no overload takes: a sentence instead of a list of overloads.
namespace timingwheel {
inline namespace v1 {
namespace detail {

template <class T>
inline constexpr bool kIsLengthOfTime = std::is_arithmetic_v<T>;
template <class Rep, class Period>
inline constexpr bool kIsLengthOfTime<std::chrono::duration<Rep, Period>> = true;
template <class Clock, class Length>
inline constexpr bool kIsLengthOfTime<std::chrono::time_point<Clock, Length>> = true;

/// Overloads that take an object and a function come first for these.
template <class T>
inline constexpr bool kIsSharedObject = false;
template <class T>
inline constexpr bool kIsSharedObject<std::shared_ptr<T>> = true;
template <class T>
inline constexpr bool kIsSharedObject<std::weak_ptr<T>> = true;

template <class T>
inline constexpr bool kIsBareTimerTask =
    std::derived_from<T, TimerTask> || std::convertible_to<T, TimerTask*>;
template <class T, class Deleter>
inline constexpr bool kIsBareTimerTask<std::unique_ptr<T, Deleter>> =
    std::derived_from<T, TimerTask>;

/// Something that stands where a task should.
template <class Task>
concept NotATask = !SchedulableTask<std::decay_t<Task>> && !kIsSharedObject<std::decay_t<Task>>;

// A variable, because compilers tell at length why a concept does not hold.
template <class Task>
inline constexpr bool kIsTask = SchedulableTask<Task>;

template <class Task>
constexpr void explain() {
    if constexpr (kIsLengthOfTime<Task>)
        static_assert(!kIsLengthOfTime<Task>, "the task comes first, then the delay");
    else if constexpr (kIsBareTimerTask<Task>)
        static_assert(!kIsBareTimerTask<Task>, "pass a std::shared_ptr of the TimerTask");
    else if constexpr (!std::is_move_constructible_v<Task>)
        static_assert(std::is_move_constructible_v<Task>, "a task is moved into the timer");
    else
        static_assert(kIsTask<Task>, "a task is called with nothing, or with a Timeout const&");
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
