// The few tests that read the real clock: smoke, with figures for people.

#include <support/RealClock.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

// G1, G2
TEST(RealClock, NothingIsEarly) {
    SystemTimer milliseconds{{.tick = 1ms}};
    measureLateness(milliseconds, "tick 1 ms", 5'000, 100ms, seedOr(8));
    SystemTimer fine{{.tick = 100us}};
    measureLateness(fine, "tick 100 us", 5'000, 100ms, seedOr(9));
    SystemTimer spinning{{.tick = 50us, .spin = 200us}};
    measureLateness(spinning, "tick 50 us, spin 200 us", 5'000, 100ms, seedOr(10));
}

TEST(RealClock, AnExecutorAndAPeriodicTaskWork) {
    ThreadExecutor executor;
    std::atomic<int> runs{0};
    Latch done;
    SystemTimer timer{{.executor = executor}};
    timer.scheduleAtFixedRate(
        [&] {
            if (++runs == 5) done.open();
        },
        1ms, 2ms);
    done.wait();
    static_cast<void>(timer.stop());
    EXPECT_GE(runs, 5);
}

TEST(RealClock, ASpinningDriverHearsOfEarlierTimeoutsAndOfStop) {
    Watchdog const watchdog{"a driver that spins for its last second"};
    SystemTimer timer{{.spin = 1s}};
    timer.newTimeout([] {}, 800ms);  // it spins from now on
    for (int i = 0; i < 20; ++i) {
        Latch ran;
        timer.newTimeout([&] { ran.open(); }, 1ms);
        ran.wait();
    }
    EXPECT_LE(timer.stop().size(), 1U);
}

TEST(RealClock, StopIsPromptWithAFarTimerPending) {
    Watchdog const watchdog{"stop() with a tick of a day"};
    SystemTimer timer{{.tick = std::chrono::hours{24}}};
    timer.newTimeout([] {}, std::chrono::hours{48});
    auto const before = std::chrono::steady_clock::now();
    EXPECT_EQ(timer.stop().size(), 1U);
    auto const took = std::chrono::steady_clock::now() - before;
    figure("G10", "stop() with a tick of 24 h and a timeout in 48 h, us", took / 1us, noBound());
}

}  // namespace
}  // namespace timingwheel::test
