// Deadlines are reached: in which order, after jumps of the clock, and from every level.

#include <support/ClockJumps.h>
#include <support/CountOfEach.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

template <class T>
using Expire = OfWheelTimers<T>;
TYPED_TEST_SUITE(Expire, WheelTimers, NamesOfTimers);

// G12
TEST(Expire, OneJumpOverAMillionTicksKeepsTheOrderOfDeadlinesOfSeveralShards) {
    constexpr int kThreads = 8;
    std::size_t const each = scaled(20'000);
    std::uint64_t const seed = seedOr(12);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ManualClock clock;
    std::vector<Clock::TimePoint> order;
    {
        SystemTimer timer{{.clock = clock, .shards = 8}};
        order.reserve(each * kThreads);
        std::vector<std::thread> threads;
        for (int thread = 0; thread < kThreads; ++thread) {
            threads.emplace_back([&, thread] {
                std::mt19937_64 random{seed + static_cast<std::uint64_t>(thread)};
                std::uniform_int_distribution<std::int64_t> tick{1, 1'000'000};
                for (std::size_t i = 0; i < each; ++i)
                    timer.newTimeout(
                        [&order](Timeout const& self) { order.push_back(self.deadline()); },
                        tick(random) * 1ms);
            });
        }
        for (auto& thread : threads) thread.join();
        clock.jump(1'000'000ms);
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
    }
    EXPECT_EQ(order.size(), each * kThreads);
    EXPECT_EQ(inversions(order), 0U);
    figure("G12", "inversions in one jump over 10^6 ticks, 8 shards", inversions(order), exactly(0),
           {order.size(), 160'000});
}

// G12: what lies in the past when it is scheduled counts as due at that moment.
TYPED_TEST(Expire, PastDeadlinesDoNotOvertakeWhatHasWaitedLonger) {
    std::uint64_t const seed = seedOr(13);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    std::uniform_int_distribution<std::int64_t> tick{-5000, 5000};
    TypeParam timer{this->options()};
    std::vector<Clock::TimePoint> order;
    auto const note = [&order](Timeout const& self) { order.push_back(self.deadline()); };
    this->clock.advance(1h);
    std::size_t const count = scaled(20'000);
    for (std::size_t i = 0; i < count; ++i) {
        timer.newTimeout(note, this->now() + tick(random) * 1ms);
        if (i % 1000 == 999) this->clock.jump(1s);
    }
    this->clock.jump(10s);
    EXPECT_EQ(order.size(), count);
    EXPECT_EQ(inversions(order), 0U);
    figure("G12", "inversions among past deadlines", inversions(order), exactly(0), {count, count});
}

// G12: accepted before the later one was taken out.
TYPED_TEST(Expire, WhatATaskSchedulesRunsBeforeALaterDeadlineOfTheSameJump) {
    TypeParam timer{this->options()};
    std::vector<int> order;
    timer.newTimeout(
        [&] {
            order.push_back(1);
            timer.newTimeout([&] { order.push_back(3); }, this->now() - 50ms);
        },
        100ms);
    timer.newTimeout([&] { order.push_back(2); }, 1000ms);
    this->clock.jump(2000ms);
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

// G12: due at that moment, and not where it lies in what the driver has yet to catch up with.
TYPED_TEST(Expire, WhatALateTaskSchedulesIntoThePastDoesNotOvertakeWhatHasWaitedLonger) {
    TypeParam timer{this->options({.shards = 1})};
    std::vector<int> order;
    timer.newTimeout(
        [&] {
            order.push_back(1);
            timer.newTimeout([&] { order.push_back(3); }, this->now() - 1500ms);
        },
        100ms);
    timer.newTimeout([&] { order.push_back(2); }, 1000ms);
    this->clock.jump(2000ms);
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

// G15
TYPED_TEST(Expire, AForwardJumpOfHoursRunsEverythingDueOnceInOrder) {
    jumpHoursAhead<TypeParam>(rounds(50'000, 1'000'000), seedOr(15));
}

// G15
TYPED_TEST(Expire, ABackwardStepMakesNothingEarlyAndLosesNothing) {
    TypeParam timer{this->options()};
    int runs = 0;
    Clock::TimePoint const start = this->now();
    auto const task = [&runs] { ++runs; };
    timer.newTimeout(task, 1s);
    this->clock.advance(999ms);
    this->clock.jump(-10h);
    timer.newTimeout(task, 9h);   // 1 h before the start
    timer.newTimeout(task, 0ms);  // due at once, but the clock went back
    this->clock.advance(10h - 1ms);
    EXPECT_LE(runs, 2);
    EXPECT_EQ(this->now(), start + 998ms);
    this->clock.advance(2ms);
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    timer.checkInvariants();
}

// G15
TYPED_TEST(Expire, AClockThatGoesBackAndForthRunsEachOnceAndNeverEarly) {
    std::uint64_t const seed = seedOr(16);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    TypeParam timer{this->options({.wheelSize = 4})};
    std::size_t early = 0;
    std::size_t const count = scaled(5'000);
    CountOfEach runs{count};
    std::uniform_int_distribution<std::int64_t> delay{0, 5'000'000};
    std::uniform_int_distribution<std::int64_t> step{-2'000'000, 2'500'000};
    for (std::size_t i = 0; i < count; ++i) {
        auto const due = this->now() + nanoseconds{delay(random)};
        timer.newTimeout(
            [&, due, i] {
                runs.count(i);
                early += this->now() < due ? 1U : 0U;
            },
            due);
        if (i % 4 == 0) this->clock.jump(nanoseconds{step(random)});
    }
    this->clock.jump(10s);
    figure("G15", "not run exactly once under a clock that goes back and forth", runs.otherThan(1),
           exactly(0), {count, 5'000});
    figure("G15", "early under a clock that goes back and forth", early, exactly(0),
           {count, 5'000});
}

/// A clock of the user's that goes wherever its owner sets it, also inside a task.
class UnsteadyClock final : public Clock {
public:
    TimePoint now() const noexcept override { return TimePoint{time}; }
    std::unique_ptr<Waiter> makeWaiter() override { return steady().makeWaiter(); }

    nanoseconds time{0};
};

// G15
TEST(Expire, ATaskThatSetsTheClockBackHoldsUpTheRestOfItsTick) {
    UnsteadyClock clock;
    LoopTimer timer{{.clock = clock}};
    int runs = 0;
    for (int i = 0; i < 100; ++i)
        timer.newTimeout(
            [&] {
                if (++runs == 50) clock.time = 0s;
            },
            1s);
    clock.time = 1s;
    timer.runDue();
    EXPECT_EQ(runs, 50);
    clock.time = 1s - 1ns;
    timer.runDue();
    EXPECT_EQ(runs, 50);
    clock.time = 1s;
    timer.runDue();
    EXPECT_EQ(runs, 100);
}

/// A clock that, once it is let go, moves at every read. Nobody ever sleeps.
class RunningClock final : public Clock {
public:
    TimePoint now() const noexcept override {
        return TimePoint{nanoseconds{runs_ ? time_.fetch_add(kStep) : time_.load()}};
    }
    std::unique_ptr<Waiter> makeWaiter() override {
        return waiterThat([](Waiter&, TimePoint) { std::this_thread::yield(); });
    }
    void run() { runs_ = true; }

private:
    static constexpr std::int64_t kStep = 100'000;
    mutable std::atomic<std::int64_t> time_{0};
    std::atomic<bool> runs_{false};
};

// Bug pattern: the clock is read again for each entry of a cascade, so that entries of one bucket
// are placed as if at different times.
TEST(Expire, AClockThatMovesAtEveryReadKeepsTheOrder) {
    std::uint64_t const seed = seedOr(17);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    std::uniform_int_distribution<std::int64_t> tick{0, 3'000};
    RunningClock clock;
    SystemTimer timer{{.wheelSize = 4, .clock = clock}};
    std::vector<Clock::TimePoint> order;
    std::size_t early = 0;
    std::size_t const count = scaled(5'000);
    for (std::size_t i = 0; i < count; ++i) {
        timer.newTimeout(
            [&](Timeout const& self) {
                order.push_back(self.deadline());
                early += clock.now() < self.deadline() ? 1U : 0U;
            },
            1s + tick(random) * 1ms);
    }
    clock.run();
    timer.drain();
    EXPECT_EQ(order.size(), count);
    EXPECT_EQ(early, 0U);
    EXPECT_EQ(inversions(order), 0U);
}

// Bug pattern: only one tick is processed for each wake-up.
TYPED_TEST(Expire, OneWakeUpServesAllTicksThatWereOverslept) {
    TypeParam timer{this->options()};
    int runs = 0;
    for (int i = 1; i <= 1000; ++i) timer.newTimeout([&] { ++runs; }, i * 1ms);
    this->clock.jump(1s);
    EXPECT_EQ(runs, 1000);
}

// Bug patterns: a delay of wheelSize - 1 ticks fires at once; an exact multiple of a turn is a lap
// off; a delay beyond the capacity fires early.
TYPED_TEST(Expire, DelaysAtTheEdgesOfTheWheelAreOnTime) {
    for (std::int64_t const size : {2, 3, 20}) {
        for (std::int64_t const phase :
             {std::int64_t{0}, std::int64_t{1}, size - 1, size, size + 1}) {
            TypeParam timer{this->options({.wheelSize = size})};
            this->clock.advance(phase * 1ms);
            int runs = 0;
            int expected = 0;
            for (std::int64_t turn = size; turn <= size * size * size; turn *= size) {
                for (std::int64_t const ticks :
                     {turn - 1, turn, turn + 1, 2 * turn - 1, 2 * turn, 2 * turn + 1}) {
                    ++expected;
                    auto const due = this->now() + ticks * 1ms;
                    timer.newTimeout(
                        [&, due] {
                            ++runs;
                            EXPECT_EQ(this->now(), due);
                        },
                        ticks * 1ms);
                }
            }
            timer.checkInvariants();
            this->clock.advance((2 * size * size * size + 2) * 1ms);
            EXPECT_EQ(runs, expected);
        }
    }
}

// Bug patterns: "now" is taken from the last processed tick inside a task; the driver overslept and
// an entry is placed relative to the stale clock.
TYPED_TEST(Expire, InsideALateTaskDelaysCountFromTheClocksNow) {
    TypeParam timer{this->options()};
    Clock::TimePoint due;
    bool ran = false;
    timer.newTimeout(
        [&] {
            due = this->now() + 5ms;
            timer.newTimeout(
                [&] {
                    ran = true;
                    EXPECT_EQ(this->now(), due);
                },
                5ms);
        },
        1ms);
    this->clock.jump(1000ms);
    EXPECT_FALSE(ran);
    EXPECT_EQ(due, this->now() + 5ms);
    this->clock.advance(5ms);
    EXPECT_TRUE(ran);
}

// G14
// Bug patterns: a far timer in the top ring hides near ones after it wraps around; the search for
// the next wake-up stops at level 0.
TYPED_TEST(Expire, OneFarTimerHidesNoNearOne) {
    TypeParam timer{this->options({.wheelSize = 4})};
    auto const far = timer.newTimeout([] {}, std::chrono::hours{24 * 365});
    int runs = 0;
    for (int round = 0; round < 300; ++round) {
        auto const due = this->now() + 37ms;
        timer.newTimeout(
            [&, due] {
                ++runs;
                EXPECT_EQ(this->now(), due);
            },
            37ms);
        this->clock.advance(23ms);
    }
    this->clock.advance(37ms);
    EXPECT_EQ(runs, 300);
    EXPECT_TRUE(far.isPending());
}

// Bug pattern: a tick difference is narrowed to int.
TYPED_TEST(Expire, TickDifferencesBeyond32BitsAreOnTime) {
    TypeParam timer{this->options({.tick = 1us})};
    for (std::int64_t const ticks :
         {(std::int64_t{1} << 31) + 1, (std::int64_t{1} << 32), (std::int64_t{1} << 33) + 5}) {
        bool ran = false;
        timer.newTimeout([&] { ran = true; }, ticks * 1us);
        this->clock.advance(ticks * 1us - 1us);
        EXPECT_FALSE(ran);
        this->clock.advance(1us);
        EXPECT_TRUE(ran);
    }
}

// Bug pattern: negative delays wait a full turn, and max() fires at once.
TYPED_TEST(Expire, NegativeDelaysAreDueAtOnceAndMaxNever) {
    TypeParam timer{this->options()};
    auto const negative = timer.newTimeout([] {}, -1s);
    auto const least = timer.newTimeout([] {}, nanoseconds::min());
    auto const never = timer.newTimeout([] {}, Duration::max());
    this->clock.advance(0ms);
    EXPECT_TRUE(negative.isExpired());
    EXPECT_TRUE(least.isExpired());
    this->clock.advance(std::chrono::hours{24 * 365 * 100});
    EXPECT_TRUE(never.isPending());
    EXPECT_EQ(never.remaining(), nanoseconds::max());
}

// G9, G13: also between two ticks of the clock.
TYPED_TEST(Expire, ZeroAndNegativeDelaysAndPastDeadlinesAreDueAtOnceBetweenTwoTicks) {
    TypeParam timer{this->options()};
    this->clock.advance(500us);
    auto const zero = timer.newTimeout([] {}, 0ms);
    auto const negative = timer.newTimeout([] {}, -100us);
    auto const past = timer.newTimeout([] {}, this->now() - 1ns);
    this->clock.advance(0ms);
    EXPECT_TRUE(zero.isExpired());
    EXPECT_TRUE(negative.isExpired());
    EXPECT_TRUE(past.isExpired());
}

}  // namespace
}  // namespace timingwheel::test
