// Coroutines of Boost.Asio that sleep, and a retry with backoff and jitter.

#include <timingwheel/SystemTimer.h>
#include <timingwheel/asio/async_sleep.h>
#include <timingwheel/asio/steady_timer.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdio>
#include <utility>  // which Boost 1.74's awaitable.hpp needs

#if defined(BOOST_ASIO_HAS_CO_AWAIT)

#    include <algorithm>
#    include <chrono>
#    include <random>

using namespace std::chrono_literals;
using boost::asio::awaitable;
using boost::asio::use_awaitable;
using std::chrono::microseconds;

namespace {

/// A random time from half of `pause` to all of it: clients that failed together come back apart.
microseconds jittered(microseconds pause) {
    thread_local std::minstd_rand random{std::random_device{}()};
    std::uniform_int_distribution<microseconds::rep> between{pause.count() / 2, pause.count()};
    return microseconds{between(random)};
}

/// Calls until that succeeds, with pauses that double. Returns how often it has called.
template <class Call>
awaitable<int> retry(Call call, microseconds pause, microseconds longest) {
    timingwheel::asio::steady_timer timer{co_await boost::asio::this_coro::executor};
    int calls = 1;
    for (; !call(); ++calls, pause = std::min(2 * pause, longest)) {
        timer.expires_after(jittered(pause));
        co_await timer.async_wait(use_awaitable);
    }
    co_return calls;
}

awaitable<void> work(timingwheel::SystemTimer& ofAllThreads) {
    timingwheel::asio::steady_timer timer{co_await boost::asio::this_coro::executor, 5ms};
    co_await timer.async_wait(use_awaitable);
    std::puts("slept in the context's wheel");

    co_await timingwheel::asio::async_sleep(ofAllThreads, 5ms, use_awaitable);
    std::puts("slept on a timer that the program has anyway");

    int failures = 3;
    int const calls = co_await retry([&] { return failures-- == 0; }, 1ms, 3ms);
    std::printf("answered at call %d\n", calls);
}

}  // namespace

int main() {
    boost::asio::io_context context;
    timingwheel::SystemTimer timer;  // after the context, to which its end hands what still sleeps
    boost::asio::co_spawn(context, work(timer), boost::asio::detached);
    context.run();
}

#else

int main() {
    std::puts("~ this compiler's coroutines are none for this version of Boost.Asio");
    return 77;
}

#endif
