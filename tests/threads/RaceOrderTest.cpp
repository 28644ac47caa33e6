#include <support/Effort.h>
#include <support/Figure.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

// G12 while others schedule. A timeout is not taken out before its deadline. So whatever was
// accepted before that, with an earlier deadline, runs first.
TEST(RaceOrder, NothingOvertakesAnEarlierDeadlineThatWasAcceptedInTime) {
    struct Times {
        Clock::TimePoint deadline;
        Clock::TimePoint accepted;
    };
    constexpr std::size_t kThreads = 4;
    std::size_t const each = scaled(5'000);
    Watchdog const watchdog{"threads that schedule for the next milliseconds"};
    std::vector<Times> times(kThreads * each);
    std::vector<std::size_t> order;
    order.reserve(times.size());
    SystemTimer timer{{.tick = 100us, .wheelSize = 4, .shards = kThreads}};
    together(kThreads, [&](std::size_t thread) {
        Random random{thread + 1};
        for (std::size_t i = 0; i < each; ++i) {
            std::size_t const number = thread * each + i;
            auto const task = [&times, &order, number](Timeout const& self) {
                times[number].deadline = self.deadline();
                order.push_back(number);
            };
            timer.newTimeout(task, 200us + random.below(std::chrono::nanoseconds{3ms}));
            times[number].accepted = timer.clock().now();
        }
    });
    timer.drain();
    EXPECT_EQ(order.size(), times.size());
    auto latest = Clock::TimePoint::min();
    std::size_t overtaken = 0;
    for (std::size_t const number : order) {
        Times const& mine = times[number];
        overtaken += latest > std::max(mine.deadline, mine.accepted) ? 1U : 0U;
        latest = std::max(latest, mine.deadline);
    }
    figure("G12", "overtaken by a later deadline while four threads schedule", overtaken,
           exactly(0), {order.size(), 20'000});
}

}  // namespace
}  // namespace timingwheel::test
