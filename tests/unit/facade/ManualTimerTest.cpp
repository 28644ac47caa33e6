#include <support/Effort.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <climits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

Clock::TimePoint at(nanoseconds sinceTheEpoch) { return Clock::TimePoint{sinceTheEpoch}; }

// Bug pattern: what a bounded advance leaves over is never run.
TEST(ManualTimer, ABoundedAdvanceSaysWhetherMoreIsDue) {
    for (std::size_t const atMost : {1U, 2U, 3U, 5U, 7U, 10U, 11U}) {
        SettableClock clock;
        ManualTimer timer{{.clock = clock}};
        std::size_t runs = 0;
        for (int i = 0; i < 10; ++i) timer.newTimeout([&] { ++runs; }, (i < 6 ? 5 : 6) * 1ms);
        clock.add(6ms);
        std::size_t expected = 0;
        while (expected < 10) {
            expected = std::min<std::size_t>(10, expected + atMost);
            EXPECT_EQ(timer.advanceTo(clock.now(), atMost), expected < 10);
            EXPECT_EQ(runs, expected);
            EXPECT_EQ(timer.pendingTimeouts(), 10 - expected);
            EXPECT_EQ(timer.nextExpiration().has_value(), expected < 10);
            EXPECT_EQ(timer.pollTimeout(), expected < 10 ? 0 : -1);
            timer.checkInvariants();
        }
        EXPECT_FALSE(timer.advanceTo(clock.now(), atMost));
    }
}

// G12. The timer is told a time ahead of its clock, so the wheel stands where the clock is not yet.
// Bug pattern: many slow tasks that are due at once hold up the loop.
TEST(ManualTimer, AnAdvanceStartsNoTaskOnceItsBudgetIsSpent) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock, .passBudget = 5ms}};
    int runs = 0;
    for (int i = 0; i < 5; ++i)
        timer.newTimeout(
            [&] {
                ++runs;
                clock.add(3ms);
            },
            1ms);
    for (int const ran : {2, 4, 5}) {
        EXPECT_EQ(timer.advanceTo(Clock::TimePoint{1ms}), ran < 5);
        EXPECT_EQ(runs, ran);
        timer.checkInvariants();
    }
    timer.newTimeout([&] { clock.add(1h); }, 1ms);
    timer.newTimeout([&] { ++runs; }, 1ms);
    EXPECT_TRUE(timer.advanceTo(clock.now() + 1ms)) << "one is always run";
    EXPECT_EQ(runs, 5);
}

TEST(ManualTimer, WhatATaskMakesDueAtOnceWaitsForTheNextCallBehindLaterTicks) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    std::vector<std::string> order;
    Timeout atOnce;
    timer.newTimeout(
        [&] {
            order.push_back("5 ms");
            atOnce = timer.newTimeout([&] { order.push_back("asked for 3 ms"); }, at(3ms));
        },
        at(5ms));
    timer.newTimeout([&] { order.push_back("6 ms"); }, at(6ms));
    timer.newTimeout([&] { order.push_back("9 ms"); }, at(9ms));
    timer.advanceTo(at(10ms));
    EXPECT_EQ(atOnce.deadline(), at(5ms));
    EXPECT_EQ(order, (std::vector<std::string>{"5 ms", "6 ms", "9 ms"}));
    EXPECT_FALSE(timer.advanceTo(at(10ms)));
    EXPECT_EQ(order.back(), "asked for 3 ms");
    EXPECT_EQ(order.size(), 4U);
}

// G12
TEST(ManualTimer, WithTheClockInStepWhatATaskMakesDueAtOnceKeepsTheOrder) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    std::vector<std::string> order;
    timer.newTimeout(
        [&] {
            order.push_back("5 ms");
            timer.newTimeout([&] { order.push_back("asked for 3 ms"); }, at(3ms));
        },
        at(5ms));
    timer.newTimeout([&] { order.push_back("6 ms"); }, at(6ms));
    clock.add(10ms);
    EXPECT_FALSE(timer.advanceTo(clock.now()));
    // Due at once means now, which is 10 ms.
    EXPECT_EQ(order, (std::vector<std::string>{"5 ms", "6 ms", "asked for 3 ms"}));
}

// G12
TEST(ManualTimer, ABoundedAdvanceGoesOnWithTheTickThatItHasBegun) {
    constexpr std::size_t kOfATick = 6;
    std::uint64_t wrong = 0;
    for (std::size_t atMost = 1; atMost < kOfATick; ++atMost) {
        SettableClock clock;
        ManualTimer timer{{.clock = clock}};
        std::vector<int> order;
        for (std::size_t i = 0; i < kOfATick; ++i)
            timer.newTimeout([&] { order.push_back(5); }, at(5ms));
        timer.newTimeout([&] { order.push_back(6); }, at(6ms));
        EXPECT_TRUE(timer.advanceTo(at(10ms), atMost));
        Timeout const between = timer.newTimeout([&] { order.push_back(3); }, at(3ms));
        EXPECT_EQ(between.deadline(), at(5ms));
        while (timer.advanceTo(at(10ms), atMost)) timer.checkInvariants();
        std::vector<int> expected(kOfATick, 5);
        expected.insert(expected.end(), {3, 6});
        EXPECT_EQ(order, expected);
        wrong += order == expected ? 0U : 1U;
    }
    figure("G12", "bounded advances that did not go on with the tick they had begun", wrong,
           exactly(0), {kOfATick - 1, kOfATick - 1});
}

TEST(ManualTimer, AnAdvanceOfAtMostNothingRunsNothing) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    int runs = 0;
    EXPECT_FALSE(timer.advanceTo(clock.now(), 0));
    timer.newTimeout([&] { ++runs; }, 1ms);
    EXPECT_FALSE(timer.advanceTo(clock.now(), 0));
    clock.add(1ms);
    EXPECT_TRUE(timer.advanceTo(clock.now(), 0));
    EXPECT_EQ(runs, 0);
    EXPECT_FALSE(timer.advanceTo(clock.now(), 1));
    EXPECT_EQ(runs, 1);
}

// What was left over may still be cancelled, moved, and returned.
TEST(ManualTimer, WhatABoundedAdvanceLeftIsStillPending) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    std::vector<Timeout> timeouts;
    for (int i = 0; i < 10; ++i) timeouts.push_back(timer.newTimeout([] {}, 5ms));
    clock.add(5ms);
    EXPECT_TRUE(timer.advanceTo(clock.now(), 2));
    std::vector<Timeout> left;
    for (Timeout const& t : timeouts)
        if (t.isPending()) left.push_back(t);
    ASSERT_EQ(left.size(), 8U);
    EXPECT_TRUE(left[0].cancel());
    EXPECT_TRUE(timer.reschedule(left[1], 5ms));
    EXPECT_TRUE(timer.advanceTo(clock.now(), 3));
    EXPECT_EQ(timer.stop().size(), 4U);
    EXPECT_TRUE(left[1].isCancelled());
}

TEST(ManualTimer, ABoundedAdvanceKeepsTheOrder) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    std::vector<Clock::TimePoint> order;
    std::mt19937_64 random{seedOr(5)};
    std::uniform_int_distribution<int> delay{0, 3000};
    for (int i = 0; i < 1000; ++i)
        timer.newTimeout([&](Timeout const& self) { order.push_back(self.deadline()); },
                         delay(random) * 1ms);
    clock.add(3s);
    while (timer.advanceTo(clock.now(), 7)) {
    }
    ASSERT_EQ(order.size(), 1000U);
    for (std::size_t i = 1; i < order.size(); ++i) EXPECT_LE(order[i - 1], order[i]);
}

TEST(ManualTimer, WhatBecomesDueMeanwhileWaitsForTheNextCall) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    int second = 0;
    timer.newTimeout([&] { timer.newTimeout([&] { ++second; }, 0ms); }, 1ms);
    clock.add(1ms);
    timer.advanceTo(clock.now());
    EXPECT_EQ(second, 0);
    EXPECT_EQ(timer.pollTimeout(), 0);
    timer.advanceTo(clock.now());
    EXPECT_EQ(second, 1);
}

TEST(ManualTimer, ATimeBeforeTheLastOneChangesNothing) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    int runs = 0;
    clock.add(10ms);
    timer.advanceTo(clock.now());
    timer.newTimeout([&] { ++runs; }, 1ms);
    EXPECT_FALSE(timer.advanceTo(Clock::TimePoint{5ms}));
    EXPECT_FALSE(timer.advanceTo(Clock::TimePoint::min()));
    EXPECT_EQ(runs, 0);
    timer.checkInvariants();
    clock.add(1ms);
    timer.advanceTo(clock.now());
    EXPECT_EQ(runs, 1);
}

// G1, G15. What a bounded advance left of 8 ms waits until that time has come again, and what is
// due by the earlier time does not wait for it.
TEST(ManualTimer, AfterABoundedAdvanceATimeBeforeTheLastOneMakesNothingEarly) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    std::vector<std::string> order;
    timer.newTimeout(
        [&] {
            order.push_back("4 ms");
            timer.newTimeout([&] { order.push_back("at once"); }, 0ms);
        },
        at(4ms));
    for (int i = 0; i < 3; ++i) timer.newTimeout([&] { order.push_back("8 ms"); }, at(8ms));
    EXPECT_TRUE(timer.advanceTo(at(10ms), 2));
    EXPECT_EQ(order, (std::vector<std::string>{"4 ms", "8 ms"}));

    EXPECT_FALSE(timer.advanceTo(at(3ms)));
    EXPECT_EQ(order.size(), 2U);
    EXPECT_FALSE(timer.advanceTo(at(7ms)));
    EXPECT_EQ(order.size(), 3U);
    EXPECT_EQ(order.back(), "at once");
    EXPECT_EQ(timer.nextExpiration(), at(8ms));
    timer.checkInvariants();
    EXPECT_FALSE(timer.advanceTo(at(8ms)));
    EXPECT_EQ(order.size(), 5U);
    EXPECT_EQ(order.back(), "8 ms");
}

// The caller may tell a time that the clock has not reached: a simulation.
TEST(ManualTimer, MayBeToldATimeAheadOfItsClock) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    int runs = 0;
    timer.newTimeout([&] { ++runs; }, 10s);
    timer.newTimeout([&] { ++runs; }, 20s);
    EXPECT_FALSE(timer.advanceTo(clock.now() + 10s));
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(timer.statistics().maxLateness, 0ns);
}

// nextExpiration() is never later than the earliest deadline.
TEST(ManualTimer, SaysWhenItMustBeCalledAtTheLatest) {
    std::uint64_t const seed = seedOr(6);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    SettableClock clock;
    ManualTimer timer{{.wheelSize = 4, .clock = clock}};
    EXPECT_EQ(timer.nextExpiration(), std::nullopt);
    std::vector<Timeout> timeouts;
    std::uniform_int_distribution<std::int64_t> any{0, 2000};
    for (int i = 0; i < 2000; ++i) {
        timeouts.push_back(timer.newTimeout([] {}, any(random) * 1ms));
        auto const& other = timeouts[static_cast<std::size_t>(any(random)) % timeouts.size()];
        if (i % 3 == 0) other.cancel();
        if (i % 3 == 1) timer.reschedule(other, any(random) * 1ms);
        clock.add(any(random) * 10us);
        timer.advanceTo(clock.now(), i % 5 == 0 ? 1 : 1000);
        auto earliest = Clock::TimePoint::max();
        std::erase_if(timeouts, [](Timeout const& t) { return !t.isPending(); });
        for (Timeout const& t : timeouts) earliest = std::min(earliest, t.deadline());
        if (timeouts.empty()) timeouts.push_back(timer.newTimeout([] {}, 1h));
        if (earliest == Clock::TimePoint::max()) continue;
        ASSERT_TRUE(timer.nextExpiration().has_value());
        ASSERT_LE(*timer.nextExpiration(), earliest);
    }
}

TEST(ManualTimer, APollTimeoutIsRoundedUpSoThatTheLoopNeverSpins) {
    SettableClock clock;
    ManualTimer timer{{.tick = 100us, .wheelSize = 65'536, .clock = clock}};
    EXPECT_EQ(timer.pollTimeout(), -1);
    Timeout const t = timer.newTimeout([] {}, 5100us);
    EXPECT_EQ(timer.pollTimeout(), 6);
    clock.add(100us);
    EXPECT_EQ(timer.pollTimeout(), 5);  // exactly
    clock.add(3900us + 1ns);
    EXPECT_EQ(timer.pollTimeout(), 2);
    clock.add(1099998ns);
    EXPECT_EQ(timer.pollTimeout(), 1);  // 1 ns is left
    clock.add(1ns);
    EXPECT_EQ(timer.pollTimeout(), 0);
    clock.add(1h);
    EXPECT_EQ(timer.pollTimeout(), 0);
    timer.advanceTo(clock.now());
    EXPECT_EQ(timer.pollTimeout(), -1);
}

// Each call with its poll timeout makes progress: at most one call per level and deadline.
TEST(ManualTimer, AnEventLoopComesAtMostOncePerLevelAndDeadline) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    int runs = 0;
    for (nanoseconds const delay : {1500us, 25000us, 401000us, 8500000us, 100000000us})
        timer.newTimeout([&] { ++runs; }, delay);
    int calls = 0;
    while (timer.pollTimeout() >= 0) {
        clock.add(timer.pollTimeout() * 1ms);
        timer.advanceTo(clock.now());
        ASSERT_LT(++calls, 50);
    }
    EXPECT_EQ(runs, 5);
    EXPECT_LE(calls, 20);
}

TEST(ManualTimer, APollTimeoutOfAFarTimerIsCut) {
    SettableClock clock;
    ManualTimer timer{{.tick = 24h, .clock = clock}};
    timer.newTimeout([] {}, std::chrono::hours{24 * 365 * 200});
    EXPECT_EQ(timer.pollTimeout(), INT_MAX);
}

TEST(ManualTimer, MayDriveAnotherOneInsideATask) {
    SettableClock clock;
    ManualTimer outer{{.clock = clock}};
    ManualTimer inner{{.clock = clock}};
    int runs = 0;
    inner.newTimeout(
        [&] {
            ++runs;
            EXPECT_THROW(outer.advanceTo(clock.now()), std::logic_error);
            EXPECT_THROW(static_cast<void>(outer.stop()), std::logic_error);
        },
        1ms);
    outer.newTimeout([&] { inner.advanceTo(clock.now()); }, 1ms);
    clock.add(1ms);
    outer.advanceTo(clock.now());
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(inner.statistics().fired, 1U);
}

// G5: the task further out on the same thread is not waited for.
TEST(ManualTimer, MayRunInsideATaskWhatWaitsForThatTask) {
    Watchdog const watchdog{"a task that waits for one further out"};
    SettableClock clock;
    ManualTimer outer{{.clock = clock}};
    ManualTimer inner{{.clock = clock}};
    outer.scheduleAtFixedRate(
        [&](Timeout const& self) {
            EXPECT_TRUE(self.cancel());
            inner.newTimeout([&] { EXPECT_FALSE(self.cancelAndWait()); }, 0ms);
            inner.advanceTo(clock.now());
        },
        0ms, 1ms);
    outer.advanceTo(clock.now());
    EXPECT_EQ(inner.statistics().fired, 1U);
}

}  // namespace
}  // namespace timingwheel::test
