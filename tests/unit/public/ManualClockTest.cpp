#include <support/AllocationCounter.h>
#include <support/TestTimers.h>
#include <timingwheel/ManualClock.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

template <class T>
using MovedManualClock = OfWheelTimers<T>;
TYPED_TEST_SUITE(MovedManualClock, WheelTimers, NamesOfTimers);

TYPED_TEST(MovedManualClock, AdvanceStepsThroughEveryExpiration) {
    TypeParam timer{this->options()};
    std::vector<Clock::TimePoint> seen;
    std::function<void()> again = [&] {
        seen.push_back(this->now());
        timer.newTimeout(again, 1s);
    };
    timer.newTimeout(again, 1s);
    this->clock.advance(1h);
    ASSERT_EQ(seen.size(), 3600U);
    for (std::size_t i = 0; i < seen.size(); ++i)
        ASSERT_EQ(seen[i], Clock::TimePoint{(static_cast<std::int64_t>(i) + 1) * 1s});
    EXPECT_EQ(this->now(), Clock::TimePoint{1h});
}

TYPED_TEST(MovedManualClock, JumpSetsTheTimeAtOnce) {
    TypeParam timer{this->options()};
    int runs = 0;
    std::function<void()> again = [&] {
        ++runs;
        EXPECT_EQ(this->now(), Clock::TimePoint{1h});
        if (runs < 10) timer.newTimeout(again, 1s);
    };
    timer.newTimeout(again, 1s);
    this->clock.jump(1h);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
}

TYPED_TEST(MovedManualClock, AdvanceRunsWhatIsDueAlreadyAndBackwardsDoesNothing) {
    TypeParam timer{this->options()};
    int runs = 0;
    this->clock.advance(5ms);
    timer.newTimeout([&] { ++runs; }, 0ms);
    this->clock.advance(-1ms);
    EXPECT_EQ(this->now(), Clock::TimePoint{5ms});
    EXPECT_EQ(runs, 1);
    this->clock.jump(-1ms);
    EXPECT_EQ(this->now(), Clock::TimePoint{4ms});
}

TYPED_TEST(MovedManualClock, CannotBeMovedFromInsideATask) {
    TypeParam timer{this->options()};
    int refused = 0;
    timer.newTimeout(
        [&] {
            EXPECT_THROW(this->clock.advance(1ms), std::logic_error);
            EXPECT_THROW(this->clock.jump(1ms), std::logic_error);
            EXPECT_THROW(this->clock.advanceTo(this->now()), std::logic_error);
            ++refused;
        },
        1ms);
    this->clock.advance(1ms);
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(this->now(), Clock::TimePoint{1ms});
}

TYPED_TEST(MovedManualClock, SeveralTimersScheduleOnEachOther) {
    TypeParam a{this->options({.name = "a"})};
    TypeParam b{this->options({.wheelSize = 3, .name = "b"})};
    TypeParam c{this->options({.tick = 7ms, .name = "c"})};
    std::vector<Clock::TimePoint> order;
    int hops = 0;
    std::function<void()> hop = [&] {
        order.push_back(this->now());
        if (++hops == 300) return;
        WheelTimer* const timers[] = {&a, &b, &c};
        timers[hops % 3]->newTimeout(hop, 10ms);
    };
    a.newTimeout(hop, 10ms);
    this->clock.advance(10s);
    EXPECT_EQ(hops, 300);
    for (std::size_t i = 1; i < order.size(); ++i) EXPECT_GE(order[i] - order[i - 1], 10ms);
}

// A task of one timer makes another one due at the same instant.
TYPED_TEST(MovedManualClock, RunsWhatOneTimerMakesDueOnAnother) {
    TypeParam a{this->options()};
    TypeParam b{this->options()};
    int runs = 0;
    b.newTimeout([&] { a.newTimeout([&] { b.newTimeout([&] { ++runs; }, 0ms); }, 0ms); }, 1ms);
    this->clock.jump(1ms);
    EXPECT_EQ(runs, 1);
}

TYPED_TEST(MovedManualClock, AnotherTimersTaskMayNotMoveItEither) {
    SystemTimer a{this->options()};
    TypeParam b{this->options()};
    int refused = 0;
    b.newTimeout(
        [&] {
            try {
                this->clock.jump(1ms);
            } catch (std::logic_error const&) {
                ++refused;
            }
        },
        1ms);
    this->clock.advance(1ms);
    EXPECT_EQ(refused, 1);
}

TYPED_TEST(MovedManualClock, TimersComeAndGo) {
    long long blocks = 0;
    for (int i = 0; i < 50; ++i) {
        if (i == 2) blocks = livingBlocks();
        EXPECT_TRUE(i <= 2 || livingBlocks() <= blocks) << "it keeps what was of a timer";
        auto timer = std::make_unique<TypeParam>(this->options());
        int runs = 0;
        timer->newTimeout([&] { ++runs; }, 1ms);
        if (i % 2 == 0) this->clock.advance(1ms);
        timer.reset();
        this->clock.advance(1ms);
        EXPECT_EQ(runs, i % 2 == 0 ? 1 : 0);
    }
}

TYPED_TEST(MovedManualClock, StoppedTimersDoNotHoldItUp) {
    TypeParam timer{this->options()};
    timer.newTimeout([] {}, 1ms);
    static_cast<void>(timer.stop());
    this->clock.advance(1h);
    EXPECT_EQ(timer.statistics().fired, 0U);
}

// G13. Bug pattern: at the end of time what is never due looks due.
TYPED_TEST(MovedManualClock, MayReachTheEndOfTime) {
    for (Clock::TimePoint const start : {Clock::TimePoint{}, Clock::TimePoint::min()}) {
        ManualClock eternal{start};
        TypeParam timer{{.clock = eternal}};
        Timeout const never = timer.newTimeout([] {}, Clock::TimePoint::max());
        Timeout const soon = timer.newTimeout([] {}, 1s);
        eternal.jumpTo(Clock::TimePoint::max());
        EXPECT_TRUE(soon.isExpired());
        EXPECT_TRUE(never.isPending());
        eternal.advance(Duration::max());
        EXPECT_EQ(eternal.now(), Clock::TimePoint::max());
    }
}

// G13. Bug pattern: what a tolerance rounds to is a tick that no clock can show.
TYPED_TEST(MovedManualClock, NearTheEndOfTimeLetsNoToleranceMakeADeadlineNever) {
    ManualClock old{Clock::TimePoint::max() - 1h};
    TypeParam timer{{.clock = old}};
    Timeout const exact = timer.newTimeout([] {}, 58min);
    Timeout const tolerant = timer.newTimeout([] {}, 58min, {.tolerance = 1h});
    EXPECT_EQ(tolerant.deadline(), exact.deadline());
    old.jump(59min);
    EXPECT_TRUE(tolerant.isExpired());
}

// Another thread may schedule what is past while the clock looks for the next expiration.
TEST(ManualClock, DoesNotGoBackToAnExpirationThatHasPassed) {
    struct Late final : ClockListener {
        std::optional<Clock::TimePoint> nextExpiration() override {
            if (++questions != 2) return std::nullopt;  // of the first look for what is due
            return Clock::TimePoint{};
        }
        bool isInsideTask() const noexcept override { return false; }
        void runDue() override { isBack = isBack || clock->now() < Clock::TimePoint{1h}; }
        ManualClock* clock = nullptr;
        int questions = 0;
        bool isBack = false;
    };
    ManualClock clock{Clock::TimePoint{1h}};
    auto const late = std::make_shared<Late>();
    late->clock = &clock;
    clock.subscribe(late);
    clock.advance(1ms);
    EXPECT_GE(late->questions, 2);
    EXPECT_FALSE(late->isBack);
    EXPECT_EQ(clock.now(), Clock::TimePoint{1h + 1ms});
}

TEST(ManualClock, SaturatesAtTheEndsOfTime) {
    ManualClock clock{Clock::TimePoint::max() - 1s};
    clock.advance(2s);
    EXPECT_EQ(clock.now(), Clock::TimePoint::max());
    clock.jumpTo(Clock::TimePoint::min());
    clock.jump(-1s);
    EXPECT_EQ(clock.now(), Clock::TimePoint::min());
}

// Bug pattern: whoever moves the clock wakes the driver again and again while a task runs somewhere
// else.
TEST(ManualClock, LetsTheDriverSleepWhileATaskRunsOnAnExecutor) {
    ManualClock clock;
    ThreadExecutor executor;
    SystemTimer timer{{.clock = clock, .executor = executor}};
    Timeout const t = timer.newTimeout([] { std::this_thread::sleep_for(50ms); }, 1ms);
    clock.advance(1ms);
    EXPECT_TRUE(t.isExpired());
    EXPECT_LT(timer.statistics().wakeUps, 10U);
}

// Bug pattern: the clock has waited for a timer, then another one's task gives its executor
// something.
TEST(ManualClock, WaitsForTheExecutorOfATimerThatAnotherOneMakesDue) {
    ManualClock clock;
    ThreadExecutor executor;
    SystemTimer first{{.clock = clock, .executor = executor}};
    SystemTimer second{{.clock = clock}};
    std::optional<SystemTimer> made;
    Timeout ofFirst;
    Timeout ofMade;
    auto const sleep = [] { std::this_thread::sleep_for(50ms); };
    second.newTimeout(
        [&] {
            made.emplace(TimerOptions{.clock = clock, .executor = executor});
            ofFirst = first.newTimeout(sleep, 0ms);
            ofMade = made->newTimeout(sleep, 0ms);
            while (ofFirst.isPending() || ofMade.isPending()) std::this_thread::yield();
        },
        1ms);
    clock.advance(1ms);
    EXPECT_TRUE(ofFirst.isDone());
    EXPECT_TRUE(ofMade.isDone());
}

}  // namespace
}  // namespace timingwheel::test
