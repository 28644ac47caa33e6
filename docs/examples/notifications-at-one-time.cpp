// When a great many are to be told at the same instant, such as when a sale begins: all that is due
// at one time goes to a pool of threads, and who leaves before is not told.

#include <timingwheel/SystemTimer.h>
#include <timingwheel/TaskPool.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <map>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using TimePoint = timingwheel::Clock::TimePoint;

namespace {

constexpr std::size_t kSubscribers = 100'000;
constexpr std::size_t kOneLeaves = 10;  // of so many

struct Subscriber {
    int told = 0;
    TimePoint at{};
    std::thread::id by{};
    timingwheel::Timeout subscription{};

    void notify() {  // on any thread of the pool; a real one writes to a socket here
        ++told;
        at = timingwheel::Clock::steady().now();
        by = std::this_thread::get_id();
    }
};

}  // namespace

int main() {
    std::vector<Subscriber> subscribers(kSubscribers);
    // 8,192 may wait for the pool. Beyond that the timer's own thread lends a hand, so that nothing
    // piles up, and nobody is forgotten.
    timingwheel::TaskPool pool{{.threads = 4}};
    timingwheel::SystemTimer timer{{.executor = pool}};  // goes before what its tasks use

    TimePoint const sale = timer.clock().now() + 500ms;
    for (Subscriber& each : subscribers)
        each.subscription = timer.newTimeout([&each] { each.notify(); }, sale);
    std::size_t left = 0;
    for (std::size_t i = 0; i < kSubscribers; i += kOneLeaves)
        left += subscribers[i].subscription.cancel() ? 1U : 0U;  // false: it was told before
    timer.drain();  // waits for the pool too: what tasks wrote may be read

    std::size_t told = 0, tooEarly = 0, twice = 0;
    TimePoint last = sale;
    std::map<std::thread::id, std::size_t> byThread;
    for (Subscriber const& each : subscribers) {
        if (each.told == 0) continue;
        ++told, ++byThread[each.by];
        if (each.at < sale) ++tooEarly;
        if (each.told > 1) ++twice;
        last = std::max(last, each.at);
    }
    std::printf("%zu subscribers were told, or had left\n", told + left);
    std::printf("%zu too early, %zu twice\n", tooEarly, twice);
    std::printf("~ %zu told within %.1f ms of the instant, by %zu threads:", told,
                std::chrono::duration<double, std::milli>{last - sale}.count(), byThread.size());
    for (auto const& [thread, share] : byThread) std::printf(" %zu", share);
    std::puts("");
    return told + left == kSubscribers && tooEarly == 0 && twice == 0 ? 0 : 1;
}
