#include <support/TestTimers.h>
#include <support/ThreadStatus.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/ifAlive.h>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

template <class T>
using Periodic = OfWheelTimers<T>;
TYPED_TEST_SUITE(Periodic, WheelTimers, NamesOfTimers);

using Times = std::vector<milliseconds>;

TYPED_TEST(Periodic, RunsAtAFixedRate) {
    TypeParam timer{this->options()};
    Times times;
    timer.scheduleAtFixedRate([&] { times.push_back(sinceStart(this->clock)); }, 5ms, 10ms);
    this->clock.advance(45ms);
    EXPECT_EQ(times, (Times{5ms, 15ms, 25ms, 35ms, 45ms}));
}

// The grid is exact; each run is rounded up to a tick of its own.
TYPED_TEST(Periodic, DoesNotDriftWhereTheTickDoesNotDivideThePeriod) {
    TypeParam timer{this->options({.tick = 7ms})};
    std::int64_t runs = 0;
    std::size_t wrong = 0;
    timer.scheduleAtFixedRate(
        [&] {
            ++runs;
            auto const exact = runs * 10ms;
            auto const rounded = (exact + 6ms) / 7ms * 7ms;
            wrong += sinceStart(this->clock) == rounded ? 0U : 1U;
        },
        10ms, 10ms);
    this->clock.advance(10'004ms);
    EXPECT_EQ(runs, 1000);
    EXPECT_EQ(wrong, 0U);
}

TYPED_TEST(Periodic, EndsOnceTheObjectOfItsTaskHasDied) {
    TypeParam timer{this->options()};
    auto beats = std::make_shared<int>(0);
    Timeout const timeout =
        timer.scheduleAtFixedRate(ifAlive(beats, [](int& n) { ++n; }), 5ms, 10ms);
    this->clock.advance(20ms);
    EXPECT_EQ(*beats, 2);
    EXPECT_TRUE(timeout.isPending());
    beats.reset();
    this->clock.advance(10ms);
    EXPECT_FALSE(timeout.isPending());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// Bug pattern: after a jump of the clock the next run lies beyond the levels that exist, and is
// placed again in each turn of the coarsest until its time has come.
TEST(PeriodicFar, TheNextRunAfterAJumpIsNotWalkedTo) {
    class Counter final : public TimerObserver {
    public:
        void onEvent(TimerEvent const& event) noexcept override {
            placed += event.stage == TimerEvent::Stage::place ? 1U : 0U;
        }
        std::uint64_t placed = 0;
    } counter;
    SettableClock clock;
    ManualTimer timer{{.tick = 1us, .clock = clock, .observer = &counter}};
    int runs = 0;
    timer.scheduleWithFixedDelay([&] { ++runs; }, 10us, 10us);
    timer.newTimeout([] {}, 12us);  // the wheel cannot pass it before it has run
    clock.add(1s);
    timer.advanceTo(clock.now());
    clock.add(10us);
    timer.advanceTo(clock.now());
    EXPECT_EQ(runs, 2);
    EXPECT_LE(counter.placed, 10U);
}

TEST(PeriodicFar, KeepsItsGridOverMoreThanADurationCanTell) {
    SettableClock clock;
    clock.set(Clock::TimePoint::min());
    ManualTimer timer{{.clock = clock}};
    std::vector<Clock::TimePoint> deadlines;
    // It counts from 292 years before 0: nanoseconds::min() + k * 10 ms.
    timer.scheduleAtFixedRate([&](Timeout const& self) { deadlines.push_back(self.deadline()); },
                              0ms, 10ms);
    clock.set(Clock::TimePoint{14ms});
    timer.advanceTo(clock.now());
    clock.add(10ms);
    timer.advanceTo(clock.now());
    ASSERT_EQ(deadlines.size(), 2U);
    nanoseconds const offset = (nanoseconds::min() % 10ms + 10ms) % 10ms;
    auto const exact = Clock::TimePoint{10ms + offset};
    EXPECT_EQ(deadlines.back(), exact) << "the ticks count from where the clock began";
}

/// A rate of 10 ms that could not run from 30 to 55 ms: when it ran until 100 ms.
template <class T>
Times withOneLateRun(MissedTicks missed, milliseconds jumpTo = 55ms) {
    ManualClock clock;
    T timer{{.clock = clock}};
    Times times;
    timer.scheduleAtFixedRate([&] { times.push_back(sinceStart(clock)); }, 10ms, 10ms, missed);
    clock.advance(30ms);
    clock.jumpTo(Clock::TimePoint{jumpTo});
    clock.advanceTo(Clock::TimePoint{100ms});
    return times;
}

TYPED_TEST(Periodic, SkipsMissedRunsAndKeepsToTheGrid) {
    EXPECT_EQ(withOneLateRun<TypeParam>(MissedTicks::skip),
              (Times{10ms, 20ms, 30ms, 55ms, 60ms, 70ms, 80ms, 90ms, 100ms}));
    // Not in the middle between two runs, where what is over and what is left are the same.
    EXPECT_EQ(withOneLateRun<TypeParam>(MissedTicks::skip, 53ms),
              (Times{10ms, 20ms, 30ms, 53ms, 60ms, 70ms, 80ms, 90ms, 100ms}));
}

TYPED_TEST(Periodic, ShiftsTheGridAfterMissedRuns) {
    EXPECT_EQ(withOneLateRun<TypeParam>(MissedTicks::shift),
              (Times{10ms, 20ms, 30ms, 55ms, 65ms, 75ms, 85ms, 95ms}));
}

// Bug pattern: only one of the missed runs is made, and the grid moves.
TYPED_TEST(Periodic, CatchesUpWithMissedRuns) {
    EXPECT_EQ(withOneLateRun<TypeParam>(MissedTicks::catchUp),
              (Times{10ms, 20ms, 30ms, 55ms, 55ms, 60ms, 70ms, 80ms, 90ms, 100ms}));
    EXPECT_EQ(withOneLateRun<TypeParam>(MissedTicks::catchUp, 85ms).size(), 10U);
}

TYPED_TEST(Periodic, CatchesUpWithAThousandRunsAfterAJump) {
    TypeParam timer{this->options({.tick = 7ms})};
    int runs = 0;
    timer.scheduleAtFixedRate([&] { ++runs; }, 10ms, 10ms, MissedTicks::catchUp);
    this->clock.jump(10'005ms);
    EXPECT_EQ(runs, 1000);
    this->clock.advance(10'005ms);
    EXPECT_EQ(runs, 2000);
}

// G13. Bug pattern: a rate that begins in the past makes up for runs before it was scheduled.
TYPED_TEST(Periodic, MakesUpForNothingBeforeItWasScheduled) {
    for (MissedTicks const missed : {MissedTicks::skip, MissedTicks::shift, MissedTicks::catchUp}) {
        ManualClock own{Clock::TimePoint{1s}};
        TypeParam timer{{.clock = own}};
        for (Duration const first :
             {Duration{-25ms}, Duration{-1h}, Duration{nanoseconds::min()}}) {
            Times times;
            auto task = [&] { times.push_back(sinceStart(own)); };
            milliseconds const now = sinceStart(own);
            Timeout const t = timer.scheduleAtFixedRate(std::move(task), first, 10ms, missed);
            own.advance(20ms);
            EXPECT_EQ(times, (Times{now, now + 10ms, now + 20ms}));
            times.clear();
            timer.reschedule(t, first);
            own.advance(10ms);
            timer.reschedule(t, own.now() - 1h);
            own.advance(10ms);
            EXPECT_EQ(times, (Times{now + 20ms, now + 30ms, now + 30ms, now + 40ms}));
            t.cancel();
        }
    }
}

// Bug pattern: a jump of centuries overflows the count of missed runs.
TYPED_TEST(Periodic, SurvivesAJumpOverAllOfTime) {
    for (MissedTicks const missed : {MissedTicks::skip, MissedTicks::shift}) {
        ManualClock ageless{Clock::TimePoint::min()};
        TypeParam timer{{.clock = ageless}};
        int runs = 0;
        timer.scheduleAtFixedRate([&] { ++runs; }, 10ms, std::chrono::hours{24 * 300}, missed);
        ageless.jumpTo(Clock::TimePoint::max() - 1ns);
        EXPECT_EQ(runs, 1);
    }
}

TYPED_TEST(Periodic, KeepsAFixedDelayAfterTheEndOfEachRun) {
    TypeParam timer{this->options()};
    Times times;
    timer.scheduleWithFixedDelay([&] { times.push_back(sinceStart(this->clock)); }, 5ms, 10ms);
    this->clock.advance(15ms);
    this->clock.jump(18ms);  // 33 ms: late by 8 ms
    this->clock.advance(20ms);
    EXPECT_EQ(times, (Times{5ms, 15ms, 33ms, 43ms, 53ms}));
}

TEST(Periodic, MeasuresAFixedDelayFromTheEndOfARunThatTakesTime) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    Times begins;
    timer.scheduleWithFixedDelay(
        [&] {
            begins.push_back(sinceStart(clock));
            clock.add(7ms);
        },
        10ms, 10ms);
    for (int i = 0; i < 60; ++i) {
        clock.add(1ms);
        timer.advanceTo(clock.now());
    }
    EXPECT_EQ(begins[0], 10ms);
    EXPECT_EQ(begins[1], 27ms);
}

TEST(Periodic, LeavesOutRunsWhoseTimePassesDuringALongRun) {
    SettableClock clock;
    ManualTimer timer{{.clock = clock}};
    Times begins;
    timer.scheduleAtFixedRate(
        [&] {
            begins.push_back(sinceStart(clock));
            if (begins.size() == 1) clock.add(25ms);
        },
        10ms, 10ms);
    while (clock.now() < Clock::TimePoint{60ms}) {
        clock.add(1ms);
        timer.advanceTo(clock.now());
    }
    EXPECT_EQ(begins, (Times{10ms, 40ms, 50ms, 60ms}));
}

// Bug pattern: a run counts as missed when its exact time has passed, though its tick has not come:
// with a phase within the tick and wake-ups a little late, every other run is left out.
TEST(Periodic, LosesNoRunToWakeUpsThatAreALittleLate) {
    for (MissedTicks const missed : {MissedTicks::skip, MissedTicks::shift, MissedTicks::catchUp}) {
        for (nanoseconds const phase : {0us, 10us, 500us, 999us}) {
            SCOPED_TRACE(testing::Message() << "missed " << static_cast<int>(missed) << ", phase "
                                            << phase.count() << " ns");
            SettableClock clock;
            ManualTimer timer{{.clock = clock}};
            clock.add(phase);
            int runs = 0;
            Timeout const t = timer.scheduleAtFixedRate([&] { ++runs; }, 1ms, 1ms, missed);
            Clock::TimePoint const first = t.deadline();
            for (int i = 0; i < 1000; ++i) {
                clock.set(first + i * 1ms + 50us);
                timer.advanceTo(clock.now());
                ASSERT_EQ(runs, i + 1);
            }
        }
    }
}

TYPED_TEST(Periodic, EndsWhenItIsCancelledFromOutside) {
    TypeParam timer{this->options()};
    int runs = 0;
    Timeout const t = timer.scheduleAtFixedRate([&] { ++runs; }, 1ms, 1ms);
    this->clock.advance(3ms);
    EXPECT_TRUE(t.cancel());
    this->clock.advance(3ms);
    EXPECT_EQ(runs, 3);
    EXPECT_FALSE(t.cancel());
}

// Bug pattern: a periodic task that is cancelled from inside its own run fires again.
TYPED_TEST(Periodic, EndsWhenItIsCancelledFromInside) {
    TypeParam timer{this->options()};
    int runs = 0;
    auto const witness = std::make_shared<int>();
    Timeout const t = timer.scheduleAtFixedRate(
        [&runs, witness](Timeout const& self) {
            if (++runs < 3) return;
            EXPECT_TRUE(self.cancel());
            EXPECT_FALSE(self.cancel());
            EXPECT_TRUE(self.isCancelled());
        },
        1ms, 1ms);
    this->clock.advance(10ms);
    EXPECT_EQ(runs, 3);
    EXPECT_TRUE(t.isCancelled());
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_EQ(timer.statistics().cancelled, 1U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

TYPED_TEST(Periodic, GoesOnAfterARunThatThrows) {
    TypeParam timer{this->options()};
    int runs = 0;
    timer.scheduleAtFixedRate(
        [&] {
            if (++runs % 2 == 0) throw std::runtime_error{"every other"};
        },
        1ms, 1ms);
    timer.scheduleWithFixedDelay([&] { throw 1; }, 1ms, 1ms);
    this->clock.advance(10ms);
    EXPECT_EQ(runs, 10);
    EXPECT_EQ(this->failures.count(TaskFailure::Kind::threw), 15U);
}

TYPED_TEST(Periodic, ReschedulingMovesTheGrid) {
    TypeParam timer{this->options()};
    Times times;
    Timeout const t =
        timer.scheduleAtFixedRate([&] { times.push_back(sinceStart(this->clock)); }, 10ms, 10ms);
    this->clock.advance(22ms);
    EXPECT_TRUE(timer.reschedule(t, 13ms));  // later
    this->clock.advance(30ms);               // 52 ms
    EXPECT_TRUE(timer.reschedule(t, 1ms));   // earlier
    this->clock.advance(23ms);
    EXPECT_EQ(times, (Times{10ms, 20ms, 35ms, 45ms, 53ms, 63ms, 73ms}));
}

// Bug pattern: rescheduled to now, when the wheel's clock was just moved there, it forgets that it
// was, and the grid stays.
TYPED_TEST(Periodic, ReschedulingToNowMovesTheGridWhateverElseWasScheduled) {
    for (bool const withNeighbour : {false, true}) {
        SCOPED_TRACE(withNeighbour ? "after another schedule" : "alone");
        ManualClock own;
        TypeParam timer{{.clock = own}};
        Times times;
        Timeout const t =
            timer.scheduleAtFixedRate([&] { times.push_back(sinceStart(own)); }, 1s, 1s);
        own.advance(300ms);
        if (withNeighbour) timer.newTimeout([] {}, 1h);
        EXPECT_TRUE(timer.reschedule(t, 0s));
        own.advance(2s);
        EXPECT_EQ(times, (Times{300ms, 1300ms, 2300ms}));
    }
}

TYPED_TEST(Periodic, ReschedulingInsideARunChangesNothing) {
    TypeParam timer{this->options()};
    Times times;
    timer.scheduleAtFixedRate(
        [&](Timeout const& self) {
            times.push_back(sinceStart(this->clock));
            EXPECT_FALSE(timer.reschedule(self, 100ms));
        },
        10ms, 10ms);
    this->clock.advance(30ms);
    EXPECT_EQ(times, (Times{10ms, 20ms, 30ms}));
}

TYPED_TEST(Periodic, IsReturnedByStop) {
    TypeParam timer{this->options()};
    auto const witness = std::make_shared<int>();
    Timeout const t = timer.scheduleAtFixedRate([witness] {}, 1ms, 4ms);
    this->clock.advance(3ms);
    {
        StoppedTimeouts const stopped = timer.stop();
        ASSERT_EQ(stopped.size(), 1U);
        EXPECT_EQ((*stopped.begin()).timeout(), t);
        EXPECT_EQ((*stopped.begin()).remaining(), 2ms);
        EXPECT_EQ(witness.use_count(), 2);
    }
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_TRUE(t.isCancelled());
    EXPECT_EQ(timer.statistics().returned, 1U);
}

TEST(Periodic, RunsOnceMoreWhenTheTimerDrains) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock, .shards = 1}};
    int runs = 0;
    Timeout const t = timer.scheduleAtFixedRate([&] { ++runs; }, 10ms, 10ms);
    clock.advance(20ms);
    std::thread draining{[&] { timer.drain(); }};
    waitUntilRefused(timer);
    timer.start();  // changes nothing, but waits until drain() has told every shard
    while (t.isPending()) clock.advance(1ms);
    draining.join();
    EXPECT_EQ(runs, 3);
    EXPECT_TRUE(t.isExpired());
    EXPECT_EQ(timer.statistics().fired, 1U);
    EXPECT_EQ(timer.statistics().runs, 3U);
}

TYPED_TEST(Periodic, RefusesAPeriodShorterThanATick) {
    TypeParam timer{this->options({.tick = 10ms})};
    expectThrows<std::invalid_argument>(
        [&] { timer.scheduleAtFixedRate([] {}, 0ms, 10ms - 1ns); },
        "period is 9999999 ns: it must be at least one tick, 10000000 ns");
    for (Duration const period : {Duration{0ms}, Duration{-1s}})
        EXPECT_THROW(timer.scheduleAtFixedRate([] {}, 0ms, period), std::invalid_argument);
    expectThrows<std::invalid_argument>([&] { timer.scheduleWithFixedDelay([] {}, 0ms, 0ms); },
                                        "delay is 0 ns: it must be at least one tick, 10000000 ns");
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_TRUE(timer.scheduleAtFixedRate([] {}, 0ms, 10ms).isPending());
}

TYPED_TEST(Periodic, WithAnInfinitePeriodRunsOnce) {
    TypeParam timer{this->options()};
    int runs = 0;
    Timeout const t = timer.scheduleAtFixedRate([&] { ++runs; }, 1ms, Duration::max());
    this->clock.advance(std::chrono::hours{24 * 365});
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(t.isPending());
}

// G21. Bug pattern: a period beyond the levels wakes the driver again and again.
TEST(Periodic, WithALongPeriodHardlyEverWakes) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    int runs = 0;
    timer.scheduleAtFixedRate([&] { ++runs; }, 0ms, 1h);
    clock.advance(2h);
    EXPECT_EQ(runs, 3);
    figure("G21", "wake-ups for a period of an hour in 2 h", timer.statistics().wakeUps,
           atMost(30));
}

// G15. Bug pattern: a pass of the driver ends by the time with which it began.
TEST(Periodic, AfterARunThatSetsTheClockBackTheNextOneWaits) {
    SettableClock clock;
    std::atomic<int> runs{0};
    SystemTimer timer{{.name = "stepping", .clock = clock}};
    auto const task = [&](Timeout const& self) {
        clock.set(Clock::TimePoint{});
        if (++runs == 100) self.cancel();
    };
    timer.scheduleWithFixedDelay(task, 50ms, 10ms);
    clock.set(Clock::TimePoint{50ms});
    waitUntil([&] { return runs > 0; });
    waitUntilAsleep("stepping");
    EXPECT_EQ(runs, 1);
    clock.set(Clock::TimePoint{50ms});
    waitUntil([&] { return runs > 1; });
    waitUntilAsleep("stepping");
    EXPECT_EQ(runs, 2);
}

// Bug pattern: an executor with several threads runs a periodic task concurrently with itself.
TEST(Periodic, IsQueuedAgainOnlyAfterItsRun) {
    SettableClock clock;
    HoldingExecutor executor;
    SystemTimer timer{{.clock = clock, .executor = executor}};
    int runs = 0;
    timer.scheduleAtFixedRate([&] { ++runs; }, 1ms, 1ms);
    clock.add(1ms);
    executor.waitFor(1);
    clock.add(5ms);
    EXPECT_EQ(executor.size(), 1U);
    executor.runAll();
    clock.add(1ms);
    executor.waitFor(1);
    EXPECT_EQ(runs, 1);
    executor.runAll();
    EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace timingwheel::test
