#include "LoadRaces.h"

#include <support/Effort.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

// G18
TEST(RaceLoad, NeverExceedsTheLimitOfPendingTimeouts) {
    Watchdog const watchdog{"the limit of pending timeouts"};
    std::size_t const threads = effort(8, 32);
    std::size_t const limit = effort(100, 1'000);
    loadUpToTheLimit(threads, rounds(100'000, 10'000'000), limit, 1);
    loadUpToTheLimit(threads, rounds(100'000, 10'000'000), limit, 0);
}

// G6
TEST(RaceLoad, CancelledTimeoutsLeaveNoMemoryBehind) {
    Watchdog const watchdog{"memory of cancelled timeouts"};
    if (!kHasProc) GTEST_SKIP() << "there is no /proc";
    cancelFarTimeouts(rounds(200'000, 10'000'000), effort(2, 4));
}

// G6
TEST(RaceLoad, ABurstOfTimeoutsIsGivenBack) {
    Watchdog const watchdog{"memory of a burst"};
    if (!kHasProc) GTEST_SKIP() << "there is no /proc";
    giveABurstBack(rounds(50'000, 1'000'000));
}

// G6
TEST(RaceLoad, CapturesMayUseTheTimerWhenTheyDie) {
    Watchdog const watchdog{"captures that use the timer when they die"};
    destroyReentrantCaptures(rounds(2'000, 10'000, 400));
}

// G20
TEST(RaceLoad, RunsEachOfManyInOneBucketOnce) {
    Watchdog const watchdog{"a crowded bucket"};
    stormFromOneBucket(rounds(50'000, 1'000'000), 1);
    if (isAtLength()) stormFromOneBucket(scaled(1'000'000), 8);
}

}  // namespace
}  // namespace timingwheel::test
