#include <support/Effort.h>
#include <support/LoadRaces.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

TEST(RaceLoad, NeverExceedsTheLimitOfPendingTimeouts) {
    Watchdog const watchdog{"the limit of pending timeouts"};
    loadUpToTheLimit(8, scaled(100'000), 100, 1);
    loadUpToTheLimit(8, scaled(100'000), 100, 0);
}

TEST(RaceLoad, CancelledTimeoutsLeaveNoMemoryBehind) {
    Watchdog const watchdog{"memory of cancelled timeouts"};
    cancelFarTimeouts(scaled(200'000), 2);
}

TEST(RaceLoad, ABurstOfTimeoutsIsGivenBack) {
    Watchdog const watchdog{"memory of a burst"};
    giveABurstBack(scaled(50'000));
}

TEST(RaceLoad, CapturesMayUseTheTimerWhenTheyDie) {
    Watchdog const watchdog{"captures that use the timer when they die"};
    destroyReentrantCaptures(scaled(2'000, 400));
}

TEST(RaceLoad, RunsEachOfManyInOneBucketOnce) {
    Watchdog const watchdog{"a crowded bucket"};
    stormFromOneBucket(scaled(50'000), 1);
}

}  // namespace
}  // namespace timingwheel::test
