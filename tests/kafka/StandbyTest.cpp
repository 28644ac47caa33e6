#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Follower.h"
#include "components/kafka/daemon/StateReader.h"
#include "components/kafka/daemon/TimeOfDay.h"
#include "kafka/MockedState.h"

#include <timingwheel/ManualClock.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace timingwheel::test::kafka {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using timingwheel::kafka::Duty;
using timingwheel::kafka::Follower;
using timingwheel::kafka::Horizon;
using timingwheel::kafka::kPositionKey;
using timingwheel::kafka::Message;
using timingwheel::kafka::nowInMilliseconds;
using timingwheel::kafka::Placement;
using timingwheel::kafka::StateCopy;
using timingwheel::kafka::StateReader;

class StandbyTest : public MockedState {
protected:
    static rd_kafka_message_t endAt(std::int64_t offset) {
        rd_kafka_message_t message{};
        message.err = RD_KAFKA_RESP_ERR__PARTITION_EOF;
        message.offset = offset;
        return message;
    }

    bool showsLag() const {
        return shared.metrics.text().find("standby_lag{partition=\"0\"}") != std::string::npos;
    }

    std::int64_t const soon = nowInMilliseconds() + 60'000;
};

TEST_F(StandbyTest, FollowsTheStateAndHandsItOver) {
    write("a", "payload", soon);
    write("b", "payload", soon);
    write("far", "payload", soon + options.horizon.count());
    flush();
    Follower follower{shared, 0};
    ASSERT_TRUE(comesTrue([&] { return follower.isReady(); }));
    EXPECT_TRUE(showsLag());
    std::size_t const before = shared.memory;
    EXPECT_GT(before, 0U);
    write("a", std::nullopt);  // what the owner writes now
    write("c", std::string(1'000, 'x'), soon);
    write(std::string{kPositionKey}, "7");
    ASSERT_TRUE(comesTrue([&] { return shared.memory > before + 500; }));
    std::unique_ptr<StateCopy> const copy = follower.handOver();
    ASSERT_NE(copy, nullptr);
    EXPECT_FALSE(copy->timers.contains("a"));
    ASSERT_NE(copy->timers.find("b"), nullptr);
    EXPECT_EQ(copy->timers.find("b")->at, soon);
    EXPECT_NE(copy->timers.find("c"), nullptr);
    EXPECT_EQ(copy->timers.far().find("far")->offset, 2);
    // A new owner reads on behind what it has seen, and no more.
    StateReader reader{options, 0};
    reader.goTo(copy->next());
    Duty const duty{shared, 0};
    Placement const placement{duty};
    Horizon const horizon{duty, copy->timers};
    ASSERT_TRUE(comesTrue([&] {
        if (Message const message = reader.next(10ms)) copy->take(*message, placement, horizon);
        return copy->next() == 6;
    }));
    EXPECT_EQ(copy->position(), 7);
    EXPECT_EQ(copy->timers.size(), 3U);
}

TEST_F(StandbyTest, LeavesMemoryToOwners) {
    options.memory = 1;
    for (int i = 0; i < 100; ++i) write(std::to_string(i), std::string(10'000, 'x'), soon);
    flush();
    Follower follower{shared, 0};
    ASSERT_TRUE(comesTrue([&] { return follower.isReady(); }));  // nobody waits for it
    EXPECT_EQ(shared.memory, 0U);
    EXPECT_TRUE(comesTrue([&] { return !showsLag(); }));  // a lag of a copy that is gone
    EXPECT_EQ(follower.handOver(), nullptr);
}

// A take-over stood still for ever if all that was near by now did not fit.
TEST_F(StandbyTest, LeavesPayloadsToTheStateThatDoNotFit) {
    options.memory = 1;
    for (int i = 0; i < 30; ++i) write(std::to_string(i), std::string(100'000, 'x'), soon);
    flush();
    Duty const duty{shared, 0};
    Placement const placement{duty};
    StateCopy copy{shared, 0};
    Horizon const horizon{duty, copy.timers};
    StateReader reader{options, 0};
    reader.goTo(copy.next());
    ASSERT_TRUE(comesTrue([&] {
        if (Message const message = reader.next(10ms)) copy.take(*message, placement, horizon);
        return copy.next() == 30;
    }));
    EXPECT_EQ(copy.timers.size(), 30U);
    EXPECT_NE(copy.timers.find("0"), nullptr);
    ASSERT_TRUE(copy.timers.far().find("29"));
    EXPECT_EQ(copy.timers.far().find("29")->offset, 29);
    EXPECT_TRUE(shared.isFull());
    EXPECT_FALSE(shared.isOverfull());
}

// Of what was suspended, or cut off: a tombstone may be gone that it has not read.
TEST_F(StandbyTest, IsOfNoUseIfItWasNotAtTheEndForLong) {
    Duty const duty{shared, 0};
    Placement const placement{duty};
    ManualClock clock;
    StateCopy copy{shared, 0, clock};
    Horizon const horizon{duty, copy.timers};
    auto const takeEnd = [&](std::int64_t offset) { copy.take(endAt(offset), placement, horizon); };

    auto const asked = clock.now();
    clock.advance(StateCopy::kMaxAge / 2);
    copy.settle(10, asked);
    takeEnd(9);
    EXPECT_FALSE(copy.wasAtTheEnd());
    copy.settle(10, clock.now());
    takeEnd(10);
    EXPECT_TRUE(copy.wasAtTheEnd());
    clock.advance(StateCopy::kMaxAge);  // as old as the question
    EXPECT_FALSE(copy.isTooOld());
    takeEnd(11);
    clock.advance(1s);
    EXPECT_TRUE(copy.isTooOld());
    try {
        takeEnd(12);
        FAIL() << "nothing was thrown";
    } catch (std::runtime_error const& error) {
        EXPECT_THAT(error.what(), HasSubstr("timers.state/0 was not read to its end for 30"));
    }
    EXPECT_EQ(copy.next(), 11);
    // Nothing was written meanwhile: so it is not old.
    copy.settle(11, clock.now());
    EXPECT_FALSE(copy.isTooOld());
}

}  // namespace
}  // namespace timingwheel::test::kafka
