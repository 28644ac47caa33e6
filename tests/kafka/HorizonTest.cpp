#include "components/kafka/daemon/Horizon.h"
#include "kafka/MockedState.h"
#include "kafka/Records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using timingwheel::kafka::Assignment;
using timingwheel::kafka::Horizon;
using timingwheel::kafka::Outputs;
using timingwheel::kafka::PendingTimer;
using timingwheel::kafka::PendingTimers;

constexpr std::int64_t kHorizon = 10'000;

class HorizonTest : public MockedState {
protected:
    HorizonTest() : MockedState{std::chrono::milliseconds{kHorizon}} {}

    /// Writes a record of the state, and has it as a far timer.
    void addFar(std::string const& id, std::int64_t at, std::string const& value = "payload") {
        write(id, value, at);
        timers.addFar(scheduleCommand(id, at), offset++);
    }
    /// Until nothing is left to do.
    void bringNear(std::int64_t now) {
        flush();
        auto const giveUpAt = std::chrono::steady_clock::now() + 60s;
        while (horizon.bringNear(now))
            if (std::chrono::steady_clock::now() > giveUpAt) return ADD_FAILURE() << "no end";
    }

    Assignment assignment{shared, 0};
    PendingTimers timers{kNow};
    Horizon horizon{assignment, timers};
    std::int64_t offset = 0;
};

TEST_F(HorizonTest, BringsNearWhatIsNear) {
    for (int i = 0; i < 1'000; ++i) addFar(std::to_string(i), kNow + kHorizon + 100 * (i % 100));
    bringNear(kNow);
    EXPECT_EQ(timers.far().size(), 1'000U);
    bringNear(kNow + kHorizon);  // half of what lies between is due within half a horizon
    EXPECT_EQ(timers.far().size(), 490U);
    EXPECT_EQ(timers.size(), 1'000U);
    PendingTimer const* const near = timers.find("50");
    ASSERT_NE(near, nullptr);
    EXPECT_EQ(near->at, kNow + kHorizon + 5'000);
    EXPECT_EQ(near->value(), "payload");
    EXPECT_EQ(timers.topicOf(*near), "orders");
    EXPECT_EQ(timers.find("51"), nullptr);
    EXPECT_TRUE(timers.contains("51"));
}

TEST_F(HorizonTest, FollowsAClockThatIsSet) {
    addFar("a", kNow + 5 * kHorizon);
    bringNear(kNow + 5 * kHorizon);
    EXPECT_NE(timers.find("a"), nullptr);
    addFar("b", kNow + kHorizon);
    bringNear(kNow + kHorizon - kHorizon / 2);  // set back
    EXPECT_NE(timers.find("b"), nullptr);
}

TEST_F(HorizonTest, LeavesWhatWasMovedOrEndedMeanwhile) {
    addFar("gone", kNow + 1);
    addFar("moved", kNow + 1);
    addFar("stays", kNow + 1);
    flush();
    ASSERT_TRUE(horizon.bringNear(kNow));  // it knows of all three
    EXPECT_EQ(timers.takeOut("gone")->id(), "gone");
    timers.schedule(scheduleCommand("moved", kNow + 7));
    bringNear(kNow);
    EXPECT_EQ(timers.size(), 2U);
    EXPECT_EQ(timers.find("moved")->at, kNow + 7);
    EXPECT_NE(timers.find("stays"), nullptr);
}

// A follower's is gone, with what its pass has found, when its timers are handed over.
TEST_F(HorizonTest, SeesAllInItsFirstPassWhateverAnotherHasSeen) {
    for (int i = 0; i < 150'000; ++i)
        timers.addFar(scheduleCommand("far" + std::to_string(i), kNow + 9 * kHorizon), -1);
    addFar("near", kNow + 1);
    flush();
    ASSERT_TRUE(Horizon(assignment, timers).bringNear(kNow)) << "that was a whole pass";
    bringNear(kNow);
    EXPECT_NE(timers.find("near"), nullptr);
}

// It took in what is due in half a horizon, however much that is.
TEST_F(HorizonTest, ReadsWhatIsDueInPartsWhileMemoryIsFull) {
    options.memory = 1;
    for (int i = 0; i < 10; ++i) addFar(std::to_string(i), kNow, std::string(300'000, 'x'));
    addFar("later", kNow + 1'000);
    timers.schedule(scheduleCommand("near", kNow + kHorizon));
    shared.memory = 1'000'001;  // by other partitions
    for (std::size_t delivered = 0; delivered < 10;) {
        bringNear(kNow);
        ASSERT_LT(timers.bytes(), 2'000'000U);
        std::size_t const due = timers.takeDue(kNow, 10).size();
        ASSERT_GT(due, 0U) << "it waits for what is due later";
        delivered += due;
    }
    EXPECT_TRUE(timers.far().find("later"));
    bringNear(kNow + 1'000);
    EXPECT_NE(timers.find("later"), nullptr);
}

TEST_F(HorizonTest, GivesUpWhatIsNotDueWhenMemoryIsFull) {
    options.memory = 1;
    for (int i = 0; i < 10; ++i) addFar(std::to_string(i), kNow + 3'000);
    addFar("due", kNow + 1'000);
    flush();
    ASSERT_TRUE(horizon.bringNear(kNow)) << "it knows of none";
    shared.memory = 1'000'001;
    bringNear(kNow);
    EXPECT_EQ(timers.far().size(), 11U);
    bringNear(kNow + 1'000);
    EXPECT_EQ(timers.far().size(), 10U);
    EXPECT_NE(timers.find("due"), nullptr);
    shared.memory = 0;
    bringNear(kNow + 2'000);
    EXPECT_EQ(timers.far().size(), 0U);
}

TEST_F(HorizonTest, BringsNearWhatIsPushedBack) {
    for (char const* const id : {"a", "b", "c"}) addFar(id, kNow + 3 * kHorizon);
    flush();
    auto const pushBack = [](std::string_view id) {
        return record(id, {{"timingwheel-command", "push-back"}, {"timingwheel-at", "1"}});
    };
    horizon.bringNear({pushBack("c"), schedule("b", "1"), pushBack("nobody"), pushBack("a")});
    EXPECT_NE(timers.find("a"), nullptr);
    EXPECT_EQ(timers.find("b"), nullptr);
    EXPECT_NE(timers.find("c"), nullptr);
}

TEST_F(HorizonTest, ThrowsWhereTheStateHasNotGotWhatItShould) {
    for (char const* const id : {"a", "another", "b"}) addFar(id, kNow + 1);
    EXPECT_TRUE(timers.takeOut("another"));
    timers.addFar(scheduleCommand("lost", kNow + 1), 1);
    try {
        bringNear(kNow);
        FAIL() << "nothing was thrown";
    } catch (std::runtime_error const& error) {
        EXPECT_THAT(error.what(), HasSubstr("timers.state/0/1"));
    }
}

TEST_F(HorizonTest, PutsAwayWhatIsCommittedAndFar) {
    Outputs outputs;
    auto const add = [&](std::string_view id, std::int64_t at) {
        outputs.beginStep(0);
        outputs.state(*timers.schedule(scheduleCommand(id, at)).timer);
    };
    add("near", kNow + kHorizon);
    add("far", kNow + kHorizon + 1);
    add("not committed", kNow + kHorizon + 1);
    add("pushed back", kNow + kHorizon + 1);
    add("replaced", kNow + kHorizon + 1);
    add("gone", kNow + kHorizon + 1);
    timers.pushBack(*timers.find("pushed back"), kNow + kHorizon + 2);
    outputs.keep(timers.schedule(scheduleCommand("replaced", kNow + 1)).replaced);
    outputs.keep(timers.takeOut("gone"));
    for (std::int64_t i = 0; auto& output : outputs.all()) output.offset = i++;
    outputs.all()[2].offset = -1;

    horizon.putAway(outputs, kNow);
    EXPECT_EQ(timers.size(), 5U);
    EXPECT_EQ(timers.far().size(), 1U);
    EXPECT_EQ(timers.far().find("far")->at, kNow + kHorizon + 1);
    EXPECT_EQ(timers.far().find("far")->offset, 1);
}

}  // namespace
}  // namespace timingwheel::test::kafka
