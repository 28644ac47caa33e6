// The few tests that read the real clock: smoke, with figures for people.

#include "RealClock.h"

#include <support/TestTimers.h>
#include <timingwheel/HashedWheelTimer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

// G1, G2
TEST(RealClock, NothingIsEarly) {
    Watchdog const watchdog{"the real clock"};
    SystemTimer milliseconds{{.tick = 1ms}};
    measureLateness(milliseconds, "tick 1 ms", seedOr(8));
    SystemTimer fine{{.tick = 100us}};
    measureLateness(fine, "tick 100 us", seedOr(9));
    SystemTimer spinning{{.tick = 50us, .spin = 200us}};
    measureLateness(spinning, "tick 50 us, spin 200 us", seedOr(10));
}

// G1. The readings of callers are recent, not exact. Bug pattern: a reading that a thread made on
// another processor.
TEST(RealClock, NothingIsEarlyThoughThreadsMigrate) {
    Watchdog const watchdog{"threads that migrate"};
    using std::chrono::nanoseconds;
    constexpr std::size_t kThreads = 3;
    std::size_t const each = rounds(100'000, 10'000'000) / kThreads + 1;
    std::atomic<std::uint64_t> early{0};
    std::atomic<std::uint64_t> ran{0};
    SystemTimer timer;
    together(kThreads, [&](std::size_t thread) {
        std::mt19937_64 random{seedOr(12) + thread};
        for (std::size_t i = 0; i < each; ++i) {
            // One stays where it is, one moves often, one as the system likes.
            if (thread == 0 ? i == 0 : thread == 1 && i % 64 == 0) runOnProcessor(i / 64);
            nanoseconds const delay{random() % nanoseconds{5ms}.count()};
            auto const due = std::chrono::steady_clock::now() + delay;
            Timeout const timeout = timer.newTimeout(
                [&, due] {
                    if (std::chrono::steady_clock::now() < due) ++early;
                    ++ran;
                },
                delay);
            if (i % 4096 == 0) waitUntil([&] { return timer.pendingTimeouts() < 100'000; });
        }
    });
    timer.drain();
    EXPECT_EQ(ran, kThreads * each);
    figure("G1", "early on the real clock, of threads that migrate", early.load(), exactly(0),
           {kThreads * each, 10'000'000});
}

// G1, G2
TEST(RealClock, NothingIsEarlyOnAHashedWheel) {
    Watchdog const watchdog{"the real clock of a flat wheel"};
    HashedWheelTimer timer{{.tick = 1ms, .leakDetection = false}};
    measureLateness(timer, "HashedWheelTimer of 1 ms", seedOr(11));
}

// Netty's case 6 as Netty has it. Its upper bound is printed, not asserted.
TEST(RealClock, TasksOfAHashedWheelAreNotEarly) {
    std::size_t const tasks = scaled(100'000);
    std::vector<std::chrono::nanoseconds> delays;
    delays.reserve(tasks);
    HashedWheelTimer timer{200ms};
    Latch done;
    for (std::size_t i = 0; i < tasks; ++i) {
        auto const start = std::chrono::steady_clock::now();
        timer.newTimeout(
            [&, start] {
                delays.push_back(std::chrono::steady_clock::now() - start);
                if (delays.size() == tasks) done.open();
            },
            125ms);
    }
    done.wait();
    EXPECT_TRUE(timer.stop().empty());
    EXPECT_EQ(delays.size(), tasks);
    auto const [least, most] = std::minmax_element(delays.begin(), delays.end());
    figure("G1", "earliest of 125 ms on the real clock, HashedWheelTimer, ms", *least / 1.0ms,
           atLeast(125), {tasks, 100'000});
    printFigure("Netty's case 6, real clock: ", tasks, " tasks of 125 ms ran after ", *least / 1ms,
                " to ", *most / 1ms, " ms (Netty expects less than 650)");
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
