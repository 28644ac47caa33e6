// A stranger's program that uses another Asio than the library's neighbours do: in one process with
// a pool, with timers whose tasks run on Asio's threads, and with entries of its own. Compiled with
// another Boost, or with Asio alone (-DSTANDALONE), and without optimisation: then each inline
// function is there, and the linker has something to mix up.
#if defined(STANDALONE)
#    include <asio/io_context.hpp>
#    include <asio/post.hpp>
#    include <asio/steady_timer.hpp>
#    include <asio/thread_pool.hpp>
#else
#    include <boost/asio/io_context.hpp>
#    include <boost/asio/post.hpp>
#    include <boost/asio/steady_timer.hpp>
#    include <boost/asio/thread_pool.hpp>
#endif
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TaskPool.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

namespace {

#if defined(STANDALONE)
namespace net = asio;
#else
namespace net = boost::asio;
#endif

void check(bool ok, char const* what) {
    std::printf("%s: %s\n", ok ? "ok" : "WRONG", what);
    std::fflush(stdout);
    if (!ok) std::exit(EXIT_FAILURE);
}

constexpr int kTasks = 200;

struct Connection {
    std::atomic<int> closed{0};
    void close() { ++closed; }
    timingwheel::TimerHook<&Connection::close> idle{*this};
};

void useBoth() {
    std::atomic<int> byAsio{0};
    std::atomic<int> onAsio{0};
    std::atomic<int> onPool{0};
    Connection connection;
    net::io_context context;
    net::steady_timer asioTimer{context, 1ms};
    asioTimer.async_wait([&](auto const&) { ++byAsio; });
    net::thread_pool threads{2};
    timingwheel::TaskPool pool{{.threads = 2, .queueCapacity = 10}};
    {
        timingwheel::SystemTimer first{{.executor = pool}};
        timingwheel::SystemTimer second{{.executor = threads}};
        timingwheel::HashedWheelTimer third{
            {.taskPool = timingwheel::TaskPoolOptions{.threads = 1}}};
        first.schedule(connection.idle, 2ms);
        for (int i = 0; i < kTasks; ++i) {
            first.newTimeout([&] { ++onPool; }, std::chrono::milliseconds{i % 5});
            second.newTimeout([&] { ++onAsio; }, std::chrono::milliseconds{i % 5});
            third.newTimeout([&] { ++onPool; }, 1ms);
            net::post(threads, [&] { ++byAsio; });
        }
        context.run();
        first.drain();
        second.drain();
        while (onPool < 2 * kTasks) std::this_thread::sleep_for(1ms);
        check(third.stop().size() == 0, "nothing is left");
    }
    threads.join();
    check(byAsio == kTasks + 1, "Asio has run its own");
    check(onAsio == kTasks, "a timer's tasks have run on Asio's threads");
    check(onPool == 2 * kTasks, "those of two others on pools of this library");
    check(connection.closed == 1, "a hook has run");
}

struct Lease : timingwheel::TimerTaskEntry {};

// Boost.Intrusive's code for the links is in the library as well as here.
void useAWheel() {
    timingwheel::TimingWheel<Lease> wheel{{.wheelSize = 4}};
    Lease leases[100];
    for (int i = 0; i < 100; ++i) static_cast<void>(wheel.add(leases[i], timingwheel::Tick{i}));
    for (int i = 0; i < 100; i += 2) wheel.cancel(leases[i]);
    int expired = 0;
    wheel.advanceTo(timingwheel::Tick{99}, [&](Lease&) { ++expired; });
    check(expired == 50 && wheel.size() == 0, "a wheel of the program's own entries");
}

}  // namespace

int main() {
    useBoth();
    check(true, "all are gone");
    useAWheel();
}
