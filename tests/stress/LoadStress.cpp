#include <support/Effort.h>
#include <support/LoadRaces.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

using std::chrono::seconds;

TEST(LoadStress, NeverExceedsTheLimitOfPendingTimeouts) {
    Watchdog const watchdog{"the limit of pending timeouts", seconds{60}};
    loadUpToTheLimit(32, scaled(10'000'000), 1'000, 1);
    loadUpToTheLimit(32, scaled(10'000'000), 1'000, 0);
}

TEST(LoadStress, CancelledTimeoutsLeaveNoMemoryBehind) {
    Watchdog const watchdog{"memory of cancelled timeouts", seconds{60}};
    cancelFarTimeouts(scaled(10'000'000), 4);
}

TEST(LoadStress, ABurstOfTimeoutsIsGivenBack) {
    Watchdog const watchdog{"memory of a burst", seconds{60}};
    giveABurstBack(scaled(1'000'000));
}

TEST(LoadStress, CapturesMayUseTheTimerWhenTheyDie) {
    Watchdog const watchdog{"captures that use the timer when they die", seconds{60}};
    destroyReentrantCaptures(scaled(10'000));
}

TEST(LoadStress, RunsEachOfAMillionInOneBucketOnce) {
    Watchdog const watchdog{"a crowded bucket", seconds{60}};
    stormFromOneBucket(scaled(1'000'000), 1);
    stormFromOneBucket(scaled(1'000'000), 8);
}

}  // namespace
}  // namespace timingwheel::test
