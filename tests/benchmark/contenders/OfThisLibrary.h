#pragma once

#include "loads/TimerAdapter.h"

#include <timingwheel/Timer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/WheelTimer.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace timingwheel::bench {

/// Any timer of this library. `Make` makes one for a tick.
template <class Make>
class AnyOfThisLibrary {
protected:
    using Timer = std::invoke_result_t<Make&, std::chrono::nanoseconds>;
    static_assert(std::derived_from<Timer, timingwheel::Timer>);
    static constexpr bool kReschedules = std::derived_from<Timer, WheelTimer>;

public:
    explicit AnyOfThisLibrary(std::chrono::nanoseconds tick) : timer_(make_(tick)) {}

    void settle() {}
    std::size_t pending() const { return timer_.pendingTimeouts(); }

protected:
    Timer& timer() noexcept { return timer_; }

private:
    Make make_;
    Timer timer_;
};

/// By handles: each schedule makes a task.
template <class Make>
class ByHandles : public AnyOfThisLibrary<Make> {
    using Base = AnyOfThisLibrary<Make>;

public:
    using Token = Timeout;
    using Base::Base;

    void schedule(Token& token, std::chrono::nanoseconds delay, Callback callback) {
        token = this->timer().newTimeout(callback, delay);
    }
    void cancel(Token& token) {
        token.cancel();
        token = {};
    }
    void reschedule(Token& token, std::chrono::nanoseconds delay)
        requires Base::kReschedules
    {
        this->timer().reschedule(token, delay);
    }
};

/// What the user owns: the task with its hook, as a connection has its idle timeout in it.
class HookedTask {
public:
    Callback callback{};

private:
    void run() noexcept { callback(); }

public:
    TimerHook<&HookedTask::run> hook{*this};
};

/// By hooks: a task is made once and scheduled many times.
template <class Make>
class ByHooks : public AnyOfThisLibrary<Make> {
    using Base = AnyOfThisLibrary<Make>;

public:
    using Token = HookedTask;
    using Base::Base;

    void schedule(Token& token, std::chrono::nanoseconds delay, Callback callback) {
        token.callback = callback;
        this->timer().schedule(token.hook, delay);
    }
    void cancel(Token& token) { token.hook.cancel(); }
    void reschedule(Token& token, std::chrono::nanoseconds delay) { token.hook.reschedule(delay); }
};

/// By hooks, of which the user has several at hand.
template <class Make>
class ByBatches : public ByHooks<Make> {
    using Base = ByHooks<Make>;

public:
    using Base::Base, Base::cancel, Base::schedule;

    void schedule(std::span<HookedTask* const> tokens, std::chrono::nanoseconds delay,
                  Callback callback) {
        for (HookedTask* const token : tokens) token->callback = callback;
        this->timer().schedule(hooksOf(tokens), delay);
    }
    void cancel(std::span<HookedTask* const> tokens) { this->timer().cancel(hooksOf(tokens)); }

private:
    std::span<TimerHookBase* const> hooksOf(std::span<HookedTask* const> tokens) {
        hooks_.clear();
        for (HookedTask* const token : tokens) hooks_.push_back(&token->hook);
        return hooks_;
    }

    std::vector<TimerHookBase*> hooks_;
};

}  // namespace timingwheel::bench
