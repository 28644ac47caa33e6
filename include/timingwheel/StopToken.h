#pragma once

#include <timingwheel/Timeout.h>
#include <timingwheel/Timer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/When.h>
#include <timingwheel/detail/Mistakes.h>
#include <timingwheel/detail/TaskOperations.h>
#include <timingwheel/detail/platform/StopToken.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#ifdef TIMINGWHEEL_STOP_TOKEN

namespace timingwheel::inline v1 {

/// A stop token that a timer stops at a time: a deadline for any interface that takes a token.
///
///     auto answer = co_await client.get(url, timer.stopAfter(5s));
///
/// As a temporary it lives until the whole expression is over. Its destructor cancels the timeout:
/// nothing stops the token after that. With a parent it is also stopped when that is, by the thread
/// that stops the parent.
///
/// The token is never stopped early, and `Duration::max()` never stops it. A delay of zero or less
/// and a time point in the past stop it as soon as the timer comes to it. If the timer is stopped,
/// or its cancelAll() takes the timeout, the time never comes: only the parent can stop the token
/// then.
///
/// Memory         one allocation, the stop state of the standard library
/// Thread safety  the token from any thread. The token's callbacks run as a task of the timer: on
///                its executor, or in `runDue` of a LoopTimer or `advanceTo` of a ManualTimer. They
///                may destroy this. Otherwise the destructor waits for callbacks that have begun
/// Lifetime       tokens may outlive it, and it may outlive the timer
/// Errors         its making throws what `newTimeout` does
class [[nodiscard("destroying it cancels the deadline: keep it")]] StopAfter {
public:
    StopAfter(WheelTimer& timer, When when, std::stop_token parent = {})
        : onParent_{std::move(parent), Forward{*this}} {
        if (!source_.stop_requested()) detail::schedule(timer, hook_, when);
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

/// Cancels a timeout, a hook or a batch of hooks when a token is stopped, as long as this lives: on
/// the thread that stops the token, at once if it is stopped already. Its destructor cancels
/// nothing, and waits for a cancel that has begun, unless it is called inside it.
///
///     timingwheel::CancelOnStop const onStop{token, timeout};
///     timingwheel::CancelOnStop const onStop = timer.schedule(hook, 30s, token);
///
/// Memory         allocates nothing
/// Lifetime       hooks, and the array of pointers to a batch, must outlive it; the timer need not
class [[nodiscard("it cancels nothing once it is destroyed: keep it")]] CancelOnStop {
public:
    CancelOnStop(std::stop_token token, Timeout timeout)
        : onStop_{std::move(token), Cancel{std::move(timeout), nullptr, {}}} {}
    CancelOnStop(std::stop_token token, TimerHookBase& hook)
        : onStop_{std::move(token), Cancel{{}, &hook, {}}} {}
    CancelOnStop(std::stop_token token, std::span<TimerHookBase* const> hooks)
        : onStop_{std::move(token), Cancel{{}, nullptr, hooks}} {}
    CancelOnStop(CancelOnStop const&) = delete;
    CancelOnStop& operator=(CancelOnStop const&) = delete;

private:
    struct Cancel {
        Timeout timeout;
        TimerHookBase* hook;
        std::span<TimerHookBase* const> hooks;
        void operator()() const noexcept {
            if (hook != nullptr) hook->cancel();
            detail::cancelEach(hooks);
            Timeout const kept = timeout;  // a capture may hold this
            kept.cancel();
        }
    };

    std::stop_callback<Cancel> onStop_;
};

namespace detail {

/// A task with the object that cancels its timeout when a token is stopped.
template <class Task>
class StoppableTask {
public:
    using OnStop = std::shared_ptr<std::optional<CancelOnStop>>;

    StoppableTask(Task task, OnStop onStop) : onStop_{std::move(onStop)}, task_{std::move(task)} {}

    void operator()(Timeout const& timeout) { runTask<Task>(&task_, timeout); }
    void cancelled(Timeout const& timeout)
        requires(kHasCancelled<Task>)
    {
        cancelledOperation<Task>()(&task_, timeout);
    }
    friend bool operator==(StoppableTask const& task, std::nullptr_t) noexcept {
        return isEmptyTask(task.task_);
    }
    void const* tag() const noexcept { return task_.tag(); }

private:
    // It dies after the task: else the scheduling thread might be the last to release it, and would
    // wait there for a stop that is destroying the task's captures.
    OnStop onStop_;
    Task task_;
};

template <class Task>
inline constexpr bool kHasTag<StoppableTask<Task>> = kHasTag<Task>;

template <class Task>
class UntilStopped {
public:
    UntilStopped(std::stop_token token, Task task)
        : token_{std::move(token)}, task_{std::move(task)} {}

    /// Has `accept` take the task, and attaches its timeout to the token.
    template <class Accept>
    Timeout schedule(Timer& timer, Accept&& accept) {
        if (token_.stop_requested()) {
            Timeout const timeout = withTask(timer, task_, [&](auto& plain) {
                return timer.newTimeout(std::move(plain), (Duration::max)());
            });
            timeout.cancel();
            return timeout;
        }
        auto const onStop = std::make_shared<std::optional<CancelOnStop>>();
        Timeout const timeout = withTask(timer, task_, [&](auto& plain) {
            StoppableTask stoppable{std::move(plain), onStop};
            return accept(stoppable);
        });
        onStop->emplace(token_, timeout);  // the task may have run and died: `onStop` has not
        return timeout;
    }

private:
    std::stop_token token_;
    Task task_;
};

template <class Task>
inline constexpr bool kIsUntilStopped<UntilStopped<Task>> = true;

}  // namespace detail

/// A task whose timeout is cancelled when the token is stopped, by the thread that stops it, as by
/// `Timeout::cancel`. Every function that schedules a task takes it:
///
///     timer.newTimeout(timingwheel::untilStopped(token, task), 30s);
///     auto beat = timingwheel::ifAlive(session, &Session::beat);
///     timer.scheduleAtFixedRate(timingwheel::untilStopped(token, beat), 1s, 1s);
///
/// If the token is stopped already, the timeout is cancelled when the call returns, the task never
/// runs, and times are not checked. In what stop() returns, `target` and `task()` of such a task
/// are null.
///
/// Memory         one allocation more than the task alone
template <class Task>
[[nodiscard]] detail::UntilStopped<Task> untilStopped(std::stop_token token, Task task) {
    detail::requireTask<Task>();
    return {std::move(token), std::move(task)};
}

}  // namespace timingwheel::inline v1

#endif
