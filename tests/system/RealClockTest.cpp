// The few tests that read the real clock: smoke, with figures for people.

#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// G1, G2
TEST(RealClock, NothingIsEarly) {
    constexpr std::size_t kTimers = 5000;
    struct Setting {
        nanoseconds tick;
        nanoseconds spin;
    };
    for (auto const [tick, spin] : {Setting{1ms, 0us}, Setting{100us, 0us}, Setting{50us, 200us}}) {
        std::vector<nanoseconds> lateness;
        lateness.reserve(kTimers);
        std::mt19937_64 random{seedOr(8)};
        std::uniform_int_distribution<std::int64_t> delay{0, 100'000'000};
        SystemTimer timer{{.tick = tick, .spin = spin}};
        for (std::size_t i = 0; i < kTimers; ++i) {
            nanoseconds const after{delay(random)};
            auto const due = std::chrono::steady_clock::now() + after;
            timer.newTimeout(
                [&lateness, due] { lateness.push_back(std::chrono::steady_clock::now() - due); },
                due);
        }
        timer.drain();
        ASSERT_EQ(lateness.size(), kTimers);
        std::sort(lateness.begin(), lateness.end());
        EXPECT_GE(lateness.front(), 0ns);
        auto const microseconds = [&](double fraction) {
            auto const index = static_cast<std::size_t>(fraction * (kTimers - 1));
            return static_cast<double>(lateness[index].count()) / 1000;
        };
        printFigure("G1, G2 real clock, tick ", tick.count() / 1000, " us, spin ",
                    spin.count() / 1000, " us, ", kTimers, " timers: lateness min ",
                    microseconds(0), ", p50 ", microseconds(0.5), ", p99 ", microseconds(0.99),
                    ", max ", microseconds(1), " us");
    }
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
    printFigure("G10 stop() with a tick of 24 h: ",
                std::chrono::duration_cast<std::chrono::microseconds>(took).count(), " us");
}

}  // namespace
}  // namespace timingwheel::test
