#include "WakeRaces.h"

#include <support/Effort.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>

#include <gtest/gtest.h>

#include <chrono>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

// G21, G25
TEST(RaceWake, IdleTimersSleep) {
    if (!kHasProc) GTEST_SKIP() << "there is no /proc";
    Watchdog const watchdog{"idle timers"};
    watchIdleTimers(isAtLength() ? 10'000ms : 100ms, rounds(10'000, 1'000'000));
}

// G22
TEST(RaceWake, DescendingDeadlinesWakeOnceForEachTick) {
    Watchdog const watchdog{"descending deadlines"};
    insertDescending(rounds(20'000, 1'000'000));
}

// Bug pattern: the next wake-up time is published after the lock was dropped.
TEST(RaceWake, AShorterTimeoutAlwaysWakesTheDriver) {
    Watchdog const watchdog{"wake-ups"};
    wakeForShorterOnes(2, rounds(1'000, 100'000));
}

// Levels were built for the first run only: beyond their reach the timeout moved on every 19 ticks.
TEST(RaceWake, APeriodBeyondTheLevelsBuildsThem) {
    ManualClock clock;
    ManualTimer timer{{.clock = clock}};
    int runs = 0;
    int expirations = 0;
    timer.scheduleAtFixedRate([&runs] { ++runs; }, 0ms, 1h);
    auto const end = clock.now() + 2h;
    for (auto next = timer.nextExpiration(); next && *next <= end; next = timer.nextExpiration()) {
        ++expirations;
        timer.advanceTo(*next);
    }
    EXPECT_EQ(runs, 3);
    EXPECT_LE(expirations, 3 * 6);
}

}  // namespace
}  // namespace timingwheel::test
