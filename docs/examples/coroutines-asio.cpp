// Coroutines of Boost.Asio that sleep on a timer of this library, and go on on their own executor.

#include <timingwheel/Sleep.h>
#include <timingwheel/SystemTimer.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdio>
#include <utility>  // which Boost 1.74's awaitable.hpp needs

#if defined(BOOST_ASIO_HAS_CO_AWAIT)

#    include <coroutine>
#    include <exception>
#    include <stop_token>
#    include <thread>

using namespace std::chrono_literals;
namespace asio = boost::asio;
using timingwheel::Wake;

namespace {

/// A coroutine that nobody waits for.
struct Detached {
    struct promise_type {
        Detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
    };
};

/// Calls `handler` on the executor when the sleep is over. Until then the loop has work.
template <class Sleep, class Handler, class Executor>
Detached sleepThenCall(Sleep sleep, Handler handler, Executor executor) {
    auto const work = asio::make_work_guard(executor);
    Wake const wake = co_await sleep;
    asio::post(executor, [handler = std::move(handler), wake]() mutable { handler(wake); });
}

/// Asio's coroutines await what is Asio's: this makes a sleep one of those.
template <class Sleep>
asio::awaitable<Wake> inAsio(Sleep sleep) {
    auto const executor = co_await asio::this_coro::executor;
    co_return co_await asio::async_initiate<asio::use_awaitable_t<> const, void(Wake)>(
        [executor](auto&& handler, Sleep inner) {
            sleepThenCall(std::move(inner), std::move(handler), executor);
        },
        asio::use_awaitable, std::move(sleep));
}

asio::awaitable<void> work(timingwheel::SystemTimer& timer, std::stop_token token,
                           std::thread::id loop) {
    Wake const first = co_await inAsio(timer.sleepFor(5ms));
    std::printf("slept, and went on on the loop's thread: %s\n",
                first == Wake::expired && std::this_thread::get_id() == loop ? "yes" : "no");
    Wake const second = co_await inAsio(timer.sleepFor(1h, token));
    std::printf("stopped: %s\n", second == Wake::stopped ? "yes" : "no");
}

}  // namespace

int main() {
    asio::io_context loop;           // the first: the timer's end wakes those that still sleep,
    timingwheel::SystemTimer timer;  // and they are handed to the loop
    std::stop_source source;
    asio::co_spawn(loop, work(timer, source.get_token(), std::this_thread::get_id()),
                   asio::detached);
    timer.newTimeout([&] { source.request_stop(); }, 50ms);
    loop.run();
}

#else

int main() {
    std::puts("~ this compiler's coroutines are none for this version of Boost.Asio");
    return 77;
}

#endif
