#pragma once

#include "Sink.h"

#include <chrono>
#include <concepts>
#include <span>

namespace timingwheel::bench {

/// What a timer must offer to be measured. Its constructor starts it and its destructor stops it;
/// tokens are dropped before that.
///
/// A token is what the user keeps of a timer: schedule() fills one that is not pending, and may
/// reuse what is in it; cancel() is only called for one that is pending and not about to fire, so
/// a contender need not make sure of that. pending(), if there is one, says how many are pending.
template <class T>
concept TimerAdapter = std::constructible_from<T, std::chrono::nanoseconds /*tick*/> &&
                       std::default_initializable<typename T::Token> &&
                       requires(T timer, typename T::Token& token, Callback callback) {
                           timer.schedule(token, std::chrono::nanoseconds{}, callback);
                           timer.cancel(token);
                           // Waits until another thread has done what schedule and cancel left it.
                           timer.settle();
                       };

/// Moves a pending one to a new delay from now, task and token unchanged. The loads cancel and
/// schedule with a timer that cannot.
template <class T>
concept Reschedules = requires(T timer, typename T::Token& token) {
    timer.reschedule(token, std::chrono::nanoseconds{});
};

/// Schedules and cancels several at a time, which a user has at hand.
template <class T>
concept TakesBatches =
    requires(T timer, std::span<typename T::Token* const> tokens, Callback callback) {
        timer.schedule(tokens, std::chrono::nanoseconds{}, callback);
        timer.cancel(tokens);
    };

}  // namespace timingwheel::bench
