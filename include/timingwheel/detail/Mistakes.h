#pragma once

#include <timingwheel/When.h>
#include <timingwheel/detail/TaskOperations.h>

#include <chrono>
#include <concepts>
#include <memory>
#include <type_traits>

/// What is wrong with a call: a sentence instead of all that the compiler tried.
namespace timingwheel::inline v1::detail {

template <class T>
inline constexpr bool kIsLengthOfTime = std::is_arithmetic_v<T>;
template <class Rep, class Period>
inline constexpr bool kIsLengthOfTime<std::chrono::duration<Rep, Period>> = true;
template <class Clock, class Length>
inline constexpr bool kIsLengthOfTime<std::chrono::time_point<Clock, Length>> = true;

template <class T>
inline constexpr bool kIsBareTimerTask =
    std::derived_from<T, TimerTask> || std::convertible_to<T, TimerTask*>;
template <class T, class Deleter>
inline constexpr bool kIsBareTimerTask<std::unique_ptr<T, Deleter>> =
    std::derived_from<T, TimerTask>;

// A variable, because compilers tell at length why a concept does not hold.
template <class Task>
inline constexpr bool kIsTask = SchedulableTask<Task>;

/// Compiles for a task, and a delay or a time point, alone.
template <class Task, class Time = Duration>
constexpr void requireTask() {
    if constexpr (kIsLengthOfTime<Task>)
        static_assert(!kIsLengthOfTime<Task>, "the task comes first, then the delay");
    else if constexpr (kIsBareTimerTask<Task>)
        static_assert(!kIsBareTimerTask<Task>, "pass a std::shared_ptr of the TimerTask");
    else if constexpr (!std::is_move_constructible_v<Task>)
        static_assert(std::is_move_constructible_v<Task>, "a task is moved into the timer");
    else if constexpr (!kIsTask<Task>)
        static_assert(kIsTask<Task>, "a task is called with nothing, or with a Timeout const&");
    else if constexpr (std::is_arithmetic_v<Time>)
        static_assert(!std::is_arithmetic_v<Time>, "a length of time needs a unit: 30s");
    else
        static_assert(std::is_convertible_v<Time, When>,
                      "a time is a delay, or a time point of the timer's clock: of system_clock, "
                      "Clock::wallTime(time) for a timer under Clock::wall()");
}

/// For anything else any When: requireTask() has reported the mistake.
template <class Time>
constexpr When toWhen(Time const& time) {
    if constexpr (std::is_convertible_v<Time, When>)
        return time;
    else
        return Duration{};
}

}  // namespace timingwheel::inline v1::detail
