#include "core/driver/context/EventLog.h"
#include "core/driver/context/TimerClock.h"
#include "core/timeout/TimeoutNode.h"
#include "core/timeout/TimeoutWord.h"

#include <support/AllocationCounter.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace timingwheel::detail {
namespace {

using namespace std::chrono_literals;
using Stage = TimerEvent::Stage;

class Observer final : public TimerObserver {
public:
    void onEvent(TimerEvent const&) noexcept override {}
};

/// The log of shard 3.
class EventLogTest : public testing::Test {
protected:
    std::vector<std::uint64_t> takeNumbers() {
        std::vector<std::uint64_t> numbers;
        for (TimerEvent const& event : log_.takeAll()) numbers.push_back(event.number);
        return numbers;
    }

    Observer observer_;
    ManualClock clock_;
    TimerClock timerClock_{clock_, TimerClock::Reading::exact, 0ns};
    EventLog log_{&observer_, timerClock_, 3};
    HookOperations const operations_{{true}, nullptr};
    HookEntry hook_{operations_, nullptr};
};

TEST_F(EventLogTest, IsObservedIfThereIsAnObserver) {
    EXPECT_TRUE(log_.isObserved());
    EventLog const other{nullptr, timerClock_, 3};
    EXPECT_FALSE(other.isObserved());
}

TEST_F(EventLogTest, NumbersEventsInTheOrderInWhichTheyAreRecorded) {
    EXPECT_TRUE(log_.empty());
    log_.record({.stage = Stage::schedule});
    log_.record({.stage = Stage::place});
    EXPECT_FALSE(log_.empty());
    std::vector<TimerEvent> const events = log_.takeAll();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].number, 0U);
    EXPECT_EQ(events[0].stage, Stage::schedule);
    EXPECT_EQ(events[1].number, 1U);
    EXPECT_EQ(events[1].stage, Stage::place);
    EXPECT_TRUE(log_.empty());
}

TEST_F(EventLogTest, HasOneSequenceOfNumbersForAllEvents) {
    log_.record({});
    log_.record(Stage::place, hook_);
    EXPECT_EQ(log_.takeAll().size(), 2U);
    log_.record({});
    EXPECT_EQ(takeNumbers(), std::vector<std::uint64_t>{2});
}

TEST_F(EventLogTest, AnEventWithoutMemoryHasNoNumber) {
    {
        test::AllocationFailure const failure{1};
        log_.record({});
        EXPECT_TRUE(failure.happened());
    }
    EXPECT_TRUE(log_.empty());
    log_.record({});
    EXPECT_EQ(takeNumbers(), std::vector<std::uint64_t>{0});
}

TEST_F(EventLogTest, AnEventOfABucketHasNoEntry) {
    clock_.advance(5ms);
    TimerEvent const event = log_.eventOf(Stage::wake, nullptr);
    EXPECT_EQ(event.stage, Stage::wake);
    EXPECT_EQ(event.shard, 3U);
    EXPECT_EQ(event.entry, nullptr);
    EXPECT_EQ(event.time, Clock::TimePoint{5ms});
    EXPECT_FALSE(event.isPeriodic);
}

TEST_F(EventLogTest, AnEventOfAnEntryHasItsDeadline) {
    TimeoutWord{Tick{7}, TimeoutState::pending}.storeIn(hook_);
    TimerEvent const event = log_.eventOf(Stage::place, &hook_);
    EXPECT_EQ(event.entry, &hook_);
    EXPECT_EQ(event.deadline, Tick{7});
    EXPECT_FALSE(event.isPeriodic);
}

TEST_F(EventLogTest, RecordsAStepOfAnEntryAsOfNow) {
    clock_.advance(5ms);
    TimeoutWord{Tick{7}, TimeoutState::pending}.storeIn(hook_);
    log_.record(Stage::expire, hook_);
    std::vector<TimerEvent> const events = log_.takeAll();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].stage, Stage::expire);
    EXPECT_EQ(events[0].shard, 3U);
    EXPECT_EQ(events[0].entry, &hook_);
    EXPECT_EQ(events[0].deadline, Tick{7});
    EXPECT_EQ(events[0].time, Clock::TimePoint{5ms});
}

}  // namespace
}  // namespace timingwheel::detail
