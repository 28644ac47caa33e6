#pragma once

#include <timingwheel/When.h>
#include <timingwheel/detail/SleepHook.h>
#include <timingwheel/detail/platform/StopToken.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace timingwheel::inline v1 {

/// What ended a sleep.
enum class Wake : std::uint8_t {
    expired,    ///< its time has come
    stopped,    ///< its token was stopped
    cancelled,  ///< the timer gave it up: stop(), its destructor, cancelAll(), or its executor
};

/// What a coroutine awaits to sleep on a timer: one of any library whose promise lets a foreign
/// awaitable through, as those of cppcoro, libcoro and folly::coro do. Those of Asio do not: see
/// <timingwheel/asio/async_sleep.h>. It is a hook in the coroutine's frame: a sleep allocates
/// nothing, except a level that has to be built.
///
///     auto const wake = co_await timer.sleep(30s, token);
///     if (wake == timingwheel::Wake::stopped) co_return;
///
/// (g++ 12 miscompiles a coroutine that awaits in a condition, whatever it awaits, if its body
/// declares no variable.)
///
/// Every sleep ends, in exactly one way. The coroutine goes on
///
/// - as a task of the timer, so on its executor, or in `runDue` of a LoopTimer or `advanceTo` of a
///   ManualTimer, when its time has come or its token was stopped: a stop makes it due at once;
/// - on the thread that calls stop(), the timer's destructor or cancelAll(), with no lock held,
///   before that returns: all that was pending is out of the timer by then;
/// - on the thread that refuses or drops it, if the executor does so;
/// - where it is, if the sleep ends before it is suspended.
///
/// A delay counts from the co_await. Zero, negative delays and deadlines in the past are due at
/// once, but the coroutine is suspended and others have their turn. Duration::max() sleeps until a
/// stop. With a token that is stopped already nothing is scheduled: Wake::stopped at once, also
/// where a schedule would throw.
///
/// Destroying a frame while it is suspended ends the sleep. The thread that would resume it
/// must not be doing so: destroy it on that thread, as one does in an event loop, or stop the token
/// and wait for the coroutine. The resumed coroutine runs as a task of the timer: it delays other
/// tasks, and stop() inside it throws.
///
/// Memory         88 bytes of the frame, StoppableSleep 160 with libstdc++
/// Thread safety  a token may be stopped on any thread (of a ManualTimer: on its thread only)
/// Lifetime       may be moved until it is awaited, awaited again once it is over, and outlive the
///                timer
/// Errors         the co_await throws what `newTimeout` does, and nothing has changed then; the
///                error handler receives what escapes the coroutine when it is resumed
class [[nodiscard("nothing sleeps until it is awaited")]] Sleep
    : protected detail::SleepHook<Sleep> {
public:
    /// REQUIRES: `other` was not awaited.
    Sleep(Sleep&& other) noexcept : SleepHook{other} {}
    Sleep& operator=(Sleep&&) = delete;
    ~Sleep() = default;

    /// Does not compile: Asio's coroutines await only what is Asio's. They call this to find out.
    template <template <class> class AsiosFrame, class Executor>
    std::nullptr_t operator()(AsiosFrame<Executor>*) const {
        static_assert(sizeof(Executor) == 0,
                      "in Asio's coroutines: co_await timingwheel::asio::async_sleep(timer, when, "
                      "use_awaitable)");
        return nullptr;
    }

    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> sleeper) {
        start(sleeper);
        return isAsleep();
    }
    Wake await_resume() const noexcept {
        if (wasStopped()) return Wake::stopped;
        return wasGivenUp() ? Wake::cancelled : Wake::expired;
    }

protected:
    Sleep(WheelTimer& timer, When when) noexcept : SleepHook{timer, when} {}

    void start(std::coroutine_handle<> sleeper) {
        sleeper_ = sleeper;
        schedule();
    }

private:
    friend class WheelTimer;
    friend class detail::SleepHook<Sleep>;

    void goOn() { sleeper_.resume(); }

    std::coroutine_handle<> sleeper_;
};

#ifdef TIMINGWHEEL_STOP_TOKEN

/// A Sleep that ends when a token is stopped.
class [[nodiscard("nothing sleeps until it is awaited")]] StoppableSleep : private Sleep {
public:
    /// REQUIRES: `other` was not awaited.
    StoppableSleep(StoppableSleep&& other) noexcept
        : Sleep{std::move(other)}, token_{std::move(other.token_)} {}

    bool await_ready() noexcept {
        bool const isStopped = token_.stop_requested();
        if (isStopped) setStopped();
        return isStopped;
    }
    bool await_suspend(std::coroutine_handle<> sleeper) {
        onStop_.reset();
        start(sleeper);
        onStop_.emplace(token_, Stop{*this});  // calls it if the token was stopped just now
        return isAsleep();
    }
    using Sleep::await_resume;
    using Sleep::operator();

private:
    friend class WheelTimer;

    struct Stop {
        StoppableSleep& sleep;
        void operator()() const noexcept { sleep.stop(); }
    };

    StoppableSleep(WheelTimer& timer, When when, std::stop_token token) noexcept
        : Sleep{timer, when}, token_{std::move(token)} {}

    std::stop_token token_;
    std::optional<std::stop_callback<Stop>> onStop_;
};

#endif

}  // namespace timingwheel::inline v1
