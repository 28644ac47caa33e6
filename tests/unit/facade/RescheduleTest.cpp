#include <support/TestTimers.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

template <class T>
using Reschedule = OfWheelTimers<T>;
TYPED_TEST_SUITE(Reschedule, WheelTimers, NamesOfTimers);

TYPED_TEST(Reschedule, MovesTheDeadlineFromAnywhereToAnywhere) {
    std::vector<nanoseconds> const delays{1ms, 3ms, 4ms, 5ms, 15ms, 16ms, 17ms, 63ms, 64ms, 200ms};
    TypeParam timer{this->options({.wheelSize = 4})};
    for (nanoseconds const from : delays) {
        for (nanoseconds const to : delays) {
            int runs = 0;
            Timeout const t = timer.newTimeout([&] { ++runs; }, from);
            EXPECT_TRUE(timer.reschedule(t, to));
            EXPECT_EQ(t.deadline(), this->now() + to);
            EXPECT_EQ(t.remaining(), to);
            timer.checkInvariants();
            this->clock.advance(to - 1ns);
            EXPECT_EQ(runs, 0);
            this->clock.advance(1ns);
            EXPECT_EQ(runs, 1);
        }
    }
    EXPECT_EQ(timer.statistics().rescheduled, delays.size() * delays.size());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

TYPED_TEST(Reschedule, ToThePastIsDueAtOnce) {
    TypeParam timer{this->options()};
    this->clock.advance(1s);
    for (Duration const delay : {Duration{0ms}, Duration{-1ms}, Duration{nanoseconds::min()}}) {
        Timeout const t = timer.newTimeout([] {}, 1h);
        EXPECT_TRUE(timer.reschedule(t, delay));
        this->clock.advance(0ms);
        EXPECT_TRUE(t.isExpired());
    }
    Timeout const t = timer.newTimeout([] {}, 1h);
    EXPECT_TRUE(timer.reschedule(t, Clock::TimePoint{3ms}));
    this->clock.advance(0ms);
    EXPECT_TRUE(t.isExpired());
}

TYPED_TEST(Reschedule, ToThePastIsDueAtOnceBetweenTwoTicks) {
    TypeParam timer{this->options()};
    this->clock.advance(1500us);
    struct Object {
        void run() { ++runs; }
        int runs = 0;
    } object;
    TimerHook<&Object::run> hook{object};
    timer.newTimeout([] {}, 1000h);  // so that a push-back may go as far
    for (When const past : {When{0ms}, When{Clock::TimePoint{1200us}}}) {
        for (Duration const tolerance : {Duration{0ms}, Duration{10ms}, Duration{100h}}) {
            Timeout const t = timer.newTimeout([] {}, 1h);
            timer.schedule(hook, 1h);
            EXPECT_TRUE(timer.reschedule(t, past, {.tolerance = tolerance}));
            EXPECT_TRUE(hook.reschedule(past, {.tolerance = tolerance}));
            this->clock.advance(0ms);
            EXPECT_TRUE(t.isExpired());
        }
    }
    EXPECT_EQ(object.runs, 6);
}

// G12. Bug pattern: while entries of a bucket wait to be taken, and keep the wheel's clock back, a
// deadline in the past is taken as it is, and overtakes.
TYPED_TEST(Reschedule, ToThePastDoesNotOvertakeWhatHasWaitedLonger) {
    constexpr bool kHasThreads = std::is_same_v<TypeParam, SystemTimer>;
    TypeParam timer{this->options({.shards = kHasThreads ? 4U : 0U})};
    auto const start = this->now();
    std::vector<int> order;
    std::array<Timeout, 2> moved;
    std::array<Clock::TimePoint, 2> movedTo;
    for (Timeout& t : moved) t = timer.newTimeout([&order] { order.push_back(2); }, 1h);
    int runs = 0;
    for (int i = 0; i < 1000; ++i) {
        timer.newTimeout(
            [&] {
                if (++runs != 1) return;
                EXPECT_TRUE(timer.reschedule(moved[0], start + 4ms));
                EXPECT_TRUE(timer.reschedule(moved[1], start - 1h));
                for (std::size_t m = 0; m < 2; ++m) movedTo[m] = moved[m].deadline();
            },
            3ms);
    }
    auto const scheduleOne = [&] { timer.newTimeout([&order] { order.push_back(1); }, 6ms); };
    scheduleOne();
    if constexpr (kHasThreads)
        for (int i = 0; i < 4; ++i) std::thread{scheduleOne}.join();  // in every shard
    std::vector<int> expected(kHasThreads ? 5 : 1, 1);
    expected.insert(expected.end(), 2, 2);
    this->clock.jump(10ms);
    EXPECT_EQ(order, expected);
    for (Clock::TimePoint const deadline : movedTo) EXPECT_EQ(deadline, start + 10ms);
}

TYPED_TEST(Reschedule, RoundsUpToTheTick) {
    TypeParam timer{this->options({.tick = 10ms})};
    Timeout const t = timer.newTimeout([] {}, 1s);
    EXPECT_TRUE(timer.reschedule(t, 2s + 1ns));
    EXPECT_EQ(t.deadline(), Clock::TimePoint{2010ms});
    EXPECT_TRUE(timer.reschedule(t, this->now() + 1001ms, {.tolerance = 400ms}));
    EXPECT_EQ(t.deadline(), this->now() + 1200ms);
    EXPECT_TRUE(timer.reschedule(t, 1001ms, {.tolerance = 200ms}));
    EXPECT_EQ(t.deadline(), Clock::TimePoint{1200ms});
}

TYPED_TEST(Reschedule, IsRefusedForATimeoutOfAnotherTimer) {
    TypeParam timer{this->options({.name = "mine"})};
    TypeParam other{this->options()};
    Timeout const t = other.newTimeout([] {}, 1s);
    expectThrows<std::invalid_argument>([&] { timer.reschedule(t, 5s); }, "timer \"mine\"");
    EXPECT_EQ(t.deadline(), this->now() + 1s);
}

TYPED_TEST(Reschedule, ReturnsFalseForWhatIsNotPending) {
    TypeParam timer{this->options()};
    EXPECT_FALSE(timer.reschedule(Timeout{}, 1s));
    bool insideOneShot = true;
    Timeout const expired = timer.newTimeout(
        [&](Timeout const& self) { insideOneShot = timer.reschedule(self, 1s); }, 1ms);
    Timeout const cancelled = timer.newTimeout([] {}, 1ms);
    EXPECT_TRUE(cancelled.cancel());
    this->clock.advance(1ms);
    EXPECT_FALSE(insideOneShot);
    EXPECT_FALSE(timer.reschedule(expired, 1s));
    EXPECT_FALSE(timer.reschedule(cancelled, 1s));
    Timeout const stopped = timer.newTimeout([] {}, 1h);
    static_cast<void>(timer.stop());
    EXPECT_FALSE(timer.reschedule(stopped, 1s));
    EXPECT_EQ(timer.statistics().rescheduled, 0U);
    EXPECT_EQ(stopped.deadline(), Clock::TimePoint{1h + 1ms});
}

// Wins until the task starts: it is due, taken out, and waits for its turn.
TEST(Reschedule, WinsOverATimeoutThatWaitsForItsTurn) {
    ManualClock clock;
    ManualTimer timer{{.clock = clock}};
    std::vector<Timeout> timeouts;
    int runs = 0;
    int moved = 0;
    for (int i = 0; i < 3; ++i) {
        timeouts.push_back(timer.newTimeout(
            [&] {
                if (++runs > 1) return;
                for (Timeout const& t : timeouts) moved += timer.reschedule(t, 5ms) ? 1 : 0;
            },
            5ms));
    }
    clock.advance(5ms);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(moved, 2);
    EXPECT_EQ(timer.pendingTimeouts(), 2U);
    timer.checkInvariants();
    clock.advance(5ms);
    EXPECT_EQ(runs, 3);
}

// Bug pattern: an entry that was pushed back is found in its old bucket and fires there.
TYPED_TEST(Reschedule, AMillisecondLaterEachTimeItNeverFires) {
    TypeParam timer{this->options({.wheelSize = 3})};
    Timeout const t = timer.newTimeout([] {}, 2ms);
    for (int i = 0; i < 1000; ++i) {
        this->clock.advance(1ms);
        ASSERT_TRUE(timer.reschedule(t, t.deadline() + 1ms));
    }
    EXPECT_TRUE(t.isPending());
    this->clock.advance(2ms);
    EXPECT_TRUE(t.isExpired());
}

TYPED_TEST(Reschedule, OfOneThatNeverFiresMakesItFire) {
    TypeParam timer{this->options()};
    Timeout const t = timer.newTimeout([] {}, Duration::max());
    EXPECT_TRUE(timer.reschedule(t, 5ms));
    this->clock.advance(5ms);
    EXPECT_TRUE(t.isExpired());
}

// Bug pattern: the wheel's clock stands where something last expired, so that a near deadline goes
// to a high level and wakes the driver once for each level on its way down.
TYPED_TEST(Reschedule, ToEarlierOnAnIdleTimerGoesToTheLowestLevel) {
    for (nanoseconds const moved : {nanoseconds{1min}, nanoseconds{1h}, nanoseconds{5h}}) {
        ManualClock own;
        TypeParam timer{{.clock = own}};
        Timeout const t = timer.newTimeout([] {}, 10h);
        own.advance(moved);
        EXPECT_TRUE(timer.reschedule(t, 5ms));
        own.advance(5ms);
        EXPECT_TRUE(t.isExpired());
        for (std::uint64_t const cascaded : timer.statistics().cascaded) EXPECT_EQ(cascaded, 0U);
    }
}

}  // namespace
}  // namespace timingwheel::test
