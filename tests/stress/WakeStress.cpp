#include <support/Effort.h>
#include <support/WakeRaces.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

using std::chrono::seconds;

TEST(WakeStress, IdleTimersSleep) {
    Watchdog const watchdog{"idle timers", seconds{60}};
    watchIdleTimers(seconds{10}, scaled(1'000'000));
}

TEST(WakeStress, DescendingDeadlinesWakeOnceForEachTick) {
    Watchdog const watchdog{"descending deadlines", seconds{60}};
    insertDescending(scaled(1'000'000));
}

TEST(WakeStress, AShorterTimeoutAlwaysWakesTheDriver) {
    Watchdog const watchdog{"wake-ups", seconds{60}};
    wakeForShorterOnes(2, scaled(100'000));
}

}  // namespace
}  // namespace timingwheel::test
