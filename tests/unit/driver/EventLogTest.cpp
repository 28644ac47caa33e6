#include "core/driver/EventLog.h"
#include "core/timeout/TimeoutNode.h"
#include "core/timeout/TimeoutWord.h"

#include <support/AllocationCounter.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace timingwheel::detail {
namespace {

using namespace std::chrono_literals;
using Stage = TimerEvent::Stage;

std::vector<std::uint64_t> numbersOf(std::vector<TimerEvent> const& events) {
    std::vector<std::uint64_t> numbers;
    for (TimerEvent const& event : events) numbers.push_back(event.number);
    return numbers;
}

TEST(EventLog, NumbersEventsInTheOrderInWhichTheyAreRecorded) {
    EventLog log;
    EXPECT_TRUE(log.empty());
    log.record({.stage = Stage::schedule});
    log.record({.stage = Stage::place});
    EXPECT_FALSE(log.empty());
    std::vector<TimerEvent> const events = log.takeAll();
    EXPECT_EQ(numbersOf(events), (std::vector<std::uint64_t>{0, 1}));
    EXPECT_EQ(events.at(0).stage, Stage::schedule);
    EXPECT_EQ(events.at(1).stage, Stage::place);
    EXPECT_TRUE(log.empty());
}

TEST(EventLog, HasOneSequenceOfNumbersForAllEvents) {
    EventLog log;
    log.record({});
    EXPECT_EQ(log.nextNumber(), 1U);
    EXPECT_EQ(log.takeAll().size(), 1U);
    log.record({});
    EXPECT_EQ(numbersOf(log.takeAll()), std::vector<std::uint64_t>{2});
}

TEST(EventLog, AnEventWithoutMemoryHasNoNumber) {
    EventLog log;
    {
        test::AllocationFailure const failure{1};
        log.record({});
        EXPECT_TRUE(failure.happened());
    }
    EXPECT_TRUE(log.empty());
    log.record({});
    EXPECT_EQ(numbersOf(log.takeAll()), std::vector<std::uint64_t>{0});
}

TEST(EventLog, AnEventOfABucketHasNoEntry) {
    TimerEvent const event = makeEvent(Stage::wake, 3, nullptr, Clock::TimePoint{5ms});
    EXPECT_EQ(event.stage, Stage::wake);
    EXPECT_EQ(event.shard, 3U);
    EXPECT_EQ(event.entry, nullptr);
    EXPECT_EQ(event.time, Clock::TimePoint{5ms});
    EXPECT_FALSE(event.isPeriodic);
}

TEST(EventLog, AnEventOfAnEntryHasItsDeadline) {
    HookOperations const operations{{true}, nullptr};
    HookEntry hook{operations, nullptr};
    TimeoutWord{Tick{7}, TimeoutState::pending}.storeIn(hook);
    TimerEvent const event = makeEvent(Stage::place, 0, &hook, Clock::TimePoint{});
    EXPECT_EQ(event.entry, &hook);
    EXPECT_EQ(event.deadline, Tick{7});
    EXPECT_FALSE(event.isPeriodic);
}

}  // namespace
}  // namespace timingwheel::detail
