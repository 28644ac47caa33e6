#pragma once

#include <timingwheel/Duration.h>
#include <timingwheel/Timeout.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/WheelTimer.h>
#include <timingwheel/detail/TaskOperations.h>
#include <timingwheel/detail/platform/StopToken.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#ifdef TIMINGWHEEL_STOP_TOKEN

namespace timingwheel {
inline namespace v1 {

/// A stop token that a timer stops after a time: a deadline for any interface that takes one.
///
///     auto answer = co_await client.get(url, timer.stopAfter(5s));
///
/// As a temporary it lives until the whole expression is over. Its destructor cancels the timeout:
/// the token is then stopped by nobody any more. With a parent it is also stopped when that is, by
/// the thread that stops the parent.
///
/// The token is never stopped early, and `Duration::max()` never stops it. A delay of zero or less
/// stops it as soon as the timer comes to it. If the timer is stopped, or its cancelAll() takes the
/// timeout, the time never comes: only the parent can stop the token then.
///
/// Memory         one allocation, the stop state of the standard library
/// Thread safety  the token from any thread. The token's callbacks run as a task of the timer: on
///                its executor, or in `runDue` of a LoopTimer or `advanceTo` of a ManualTimer. They
///                may destroy this. Otherwise the destructor waits for callbacks that have begun
/// Lifetime       tokens may outlive it, and it may outlive the timer
/// Errors         its making throws what `newTimeout` does
class [[nodiscard("its destructor takes the deadline away: keep it")]] StopAfter {
public:
    StopAfter(WheelTimer& timer, Duration delay, std::stop_token parent = {})
        : onParent_{std::move(parent), Forward{*this}} {
        if (!source_.stop_requested()) timer.schedule(hook_, delay);
    }
    StopAfter(StopAfter const&) = delete;
    StopAfter& operator=(StopAfter const&) = delete;

    std::stop_token token() const noexcept { return source_.get_token(); }
    operator std::stop_token() const noexcept { return token(); }  // implicit: pass it as one

private:
    struct Forward {
        StopAfter& to;
        void operator()() const noexcept { to.stop(); }
    };

    void stop() {
        std::stop_source source = source_;  // a callback may destroy this
        source.request_stop();
    }

    std::stop_source source_;
    TimerHook<&StopAfter::stop> hook_{*this};
    std::stop_callback<Forward> onParent_;  // the last: it goes first
};

inline StopAfter WheelTimer::stopAfter(Duration delay) { return {*this, delay}; }
template <detail::StopToken Token>
StopAfter WheelTimer::stopAfter(Duration delay, Token parent) {
    return {*this, delay, std::move(parent)};
}

/// Cancels a timeout or a hook when a token is stopped, as long as this lives: on the thread that
/// stops the token, at once if it is stopped already. Its destructor cancels nothing, and waits for
/// a cancel that has begun, unless it is called inside it.
///
///     timingwheel::CancelOnStop const onStop{token, timeout};
///
/// Memory         allocates nothing
/// Lifetime       a hook must outlive it
class [[nodiscard("it cancels nothing once it is destroyed: keep it")]] CancelOnStop {
public:
    CancelOnStop(std::stop_token token, Timeout timeout)
        : onStop_{std::move(token), Cancel{std::move(timeout), nullptr}} {}
    CancelOnStop(std::stop_token token, TimerHookBase& hook)
        : onStop_{std::move(token), Cancel{{}, &hook}} {}
    CancelOnStop(CancelOnStop const&) = delete;
    CancelOnStop& operator=(CancelOnStop const&) = delete;

private:
    struct Cancel {
        Timeout timeout;
        TimerHookBase* hook;
        void operator()() const noexcept {
            if (hook != nullptr) return static_cast<void>(hook->cancel());
            Timeout const kept = timeout;  // a capture may hold this
            kept.cancel();
        }
    };

    std::stop_callback<Cancel> onStop_;
};

namespace detail {

/// A task that keeps what cancels its timeout when a token is stopped.
template <class Task>
class StoppableTask {
public:
    using OnStop = std::shared_ptr<std::optional<CancelOnStop>>;

    StoppableTask(Task task, OnStop onStop) : task_{std::move(task)}, onStop_{std::move(onStop)} {}

    void operator()(Timeout const& timeout) { runTask<Task>(&task_, timeout); }
    void cancelled(Timeout const& timeout)
        requires(kHasCancelled<Task>)
    {
        cancelledOperation<Task>()(&task_, timeout);
    }
    friend bool operator==(StoppableTask const& task, std::nullptr_t) noexcept {
        return isEmptyTask(task.task_);
    }

private:
    Task task_;
    OnStop onStop_;
};

template <>
struct UntilStopped<std::stop_token> {
    template <class Task, class Schedule>
    static Timeout schedule(WheelTimer& timer, Task task, std::stop_token const& token,
                            Schedule&& schedule) {
        if (token.stop_requested()) {
            Timeout const timeout = timer.newTimeout(std::move(task), std::chrono::hours{1});
            timeout.cancel();
            return timeout;
        }
        auto const onStop = std::make_shared<std::optional<CancelOnStop>>();
        Timeout const timeout = schedule(StoppableTask<Task>{std::move(task), onStop});
        onStop->emplace(token, timeout);  // the task may have run and died: `onStop` has not
        return timeout;
    }
};

}  // namespace detail

}  // namespace v1
}  // namespace timingwheel

#endif
