#pragma once

#include <support/Figure.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/Timeout.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

/// A clock that jumps, and the order of what runs then.
namespace timingwheel::test {

/// How often a deadline came after a later one.
inline std::size_t inversions(std::vector<Clock::TimePoint> const& order) {
    std::size_t sum = 0;
    for (std::size_t i = 1; i < order.size(); ++i) sum += order[i] < order[i - 1] ? 1U : 0U;
    return sum;
}

/// `count` timeouts within ten hours, and a jump over eight of them: guarantee G15.
template <class TimerType>
void jumpHoursAhead(std::size_t count, std::uint64_t seed) {
    using namespace std::chrono_literals;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    std::uniform_int_distribution<std::int64_t> delay{0, std::int64_t{10} * 3600 * 1000};
    ManualClock clock;
    TimerType timer{{.clock = clock}};
    std::vector<Clock::TimePoint> order;
    std::vector<unsigned char> runs(count);
    std::size_t due = 0;
    order.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        auto const after = delay(random) * 1ms;
        if (after <= 8h) ++due;
        timer.newTimeout(
            [&order, &runs, i](Timeout const& self) {
                ++runs[i];
                order.push_back(self.deadline());
            },
            after);
    }
    clock.jump(8h);
    EXPECT_EQ(order.size(), due);
    EXPECT_EQ(timer.pendingTimeouts(), count - due);
    timer.checkInvariants();
    clock.jump(2h);
    EXPECT_EQ(order.size(), count);
    Of const all{count, 1'000'000};
    figure("G15", "inversions in a jump of 8 h", inversions(order), exactly(0), all);
    figure("G15", "runs of each, at most", int{*std::max_element(runs.begin(), runs.end())},
           exactly(1), all);
}

}  // namespace timingwheel::test
