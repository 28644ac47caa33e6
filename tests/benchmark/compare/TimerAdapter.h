#pragma once

#include "Sink.h"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>

namespace timingwheel::bench {

/// What a timer must offer to be compared. It is started by its constructor and stopped by its
/// destructor; tokens are dropped before that.
///
/// A token is what the user keeps of a timer: schedule() fills one that is not pending, and may
/// reuse what is in it; cancel() is only called for one that is pending and not about to fire, so
/// a contender need not make sure of that.
template <class T>
concept TimerAdapter = std::constructible_from<T, std::chrono::nanoseconds /*tick*/> &&
                       std::default_initializable<typename T::Token> &&
                       requires(T timer, typename T::Token& token, Callback callback) {
                           timer.schedule(token, std::chrono::nanoseconds{}, callback);
                           timer.cancel(token);
                           // Waits until another thread has done what schedule and cancel left it.
                           timer.settle();
                           // How many are pending; kUnknown if it cannot say.
                           { timer.pending() } -> std::same_as<std::size_t>;
                           // True if a million random insertions take minutes: then a timer is
                           // filled in the order of deadlines.
                           { T::kFillInOrder } -> std::convertible_to<bool>;
                       };

/// Moves a pending one to a new delay from now, task and token unchanged. Of one that cannot, the
/// loads cancel it and schedule it anew.
template <class T>
concept Reschedules = requires(T timer, typename T::Token& token) {
    timer.reschedule(token, std::chrono::nanoseconds{});
};

/// The same for a batch of them in one call.
template <class T>
concept ReschedulesBatches =
    requires(T timer, typename T::Token& token, std::span<typename T::Batched const> batch) {
        { T::batched(token) } -> std::same_as<typename T::Batched>;
        timer.rescheduleAll(batch, std::chrono::nanoseconds{});
    };

/// Cancels a batch and schedules it anew.
template <class T>
concept ReplacesBatches =
    ReschedulesBatches<T> && requires(T timer, std::span<typename T::Batched const> batch) {
        timer.replaceAll(batch, std::chrono::nanoseconds{});
    };

/// It has neither thread nor clock: the load moves its time on, which runs what is due.
template <class T>
concept Driven = requires(T timer) { timer.advance(std::chrono::nanoseconds{}); };

/// Each task has a thread: how many there may be is for the system to say, and what one has used is
/// not known any more when it has run.
template <class T>
concept HasThreadForEach = T::kThreadForEach;

inline constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

}  // namespace timingwheel::bench
