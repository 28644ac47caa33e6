#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

// Timers whose levels have different sizes: seconds, minutes, hours, days.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

template <class T>
using LevelSizesOfATimer = OfWheelTimers<T>;
TYPED_TEST_SUITE(LevelSizesOfATimer, WheelTimers, NamesOfTimers);

TYPED_TEST(LevelSizesOfATimer, AreThoseOfItsOptions) {
    TypeParam timer{this->options({.tick = 1s, .levelSizes = {60, 60, 24, 7}})};
    Clock::TimePoint const begin = this->clock.now();
    std::chrono::nanoseconds ranAfter{};
    timer.newTimeout([&] { ranAfter = this->clock.now() - begin; }, 26h + 42min + 17s);
    this->clock.advance(48h);
    EXPECT_EQ(ranAfter, 26h + 42min + 17s);
    // From the days to the hours, from there to the minutes, and to the seconds.
    EXPECT_EQ(timer.statistics().cascaded, (std::vector<std::uint64_t>{0, 1, 1, 1}));
    timer.checkInvariants();
}

TYPED_TEST(LevelSizesOfATimer, CountFromItsStart) {
    this->clock.advance(9h + 15min + 40s);
    TypeParam timer{
        this->options({.tick = 1s, .levelSizes = {60, 60, 24, 7}, .start = Clock::TimePoint{}})};
    std::vector<std::chrono::nanoseconds> ranAt;
    auto const task = [&] { ranAt.push_back(this->clock.now().time_since_epoch()); };
    timer.newTimeout(task, 14min + 20s);             // 9:30:00: straight from the minutes
    timer.newTimeout(task, 8h + 44min + 20s);        // 18:00:00: straight from the hours
    timer.newTimeout(task, 24h - 9h - 15min - 40s);  // midnight: straight from the days
    this->clock.advance(48h);
    EXPECT_EQ(ranAt, (std::vector<std::chrono::nanoseconds>{9h + 30min, 18h, 24h}));
    for (std::uint64_t const moved : timer.statistics().cascaded) EXPECT_EQ(moved, 0U);
}

}  // namespace
}  // namespace timingwheel::test
