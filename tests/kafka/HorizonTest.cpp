#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Horizon.h"
#include "kafka/Records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka_mock.h>

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
using timingwheel::kafka::check;
using timingwheel::kafka::Client;
using timingwheel::kafka::Configuration;
using timingwheel::kafka::Horizon;
using timingwheel::kafka::Metrics;
using timingwheel::kafka::Options;
using timingwheel::kafka::Outputs;
using timingwheel::kafka::Owned;
using timingwheel::kafka::PendingTimer;
using timingwheel::kafka::PendingTimers;
using timingwheel::kafka::Shared;
using timingwheel::kafka::Topics;
namespace header = timingwheel::kafka::header;

constexpr std::int64_t kHorizon = 10'000;

/// A state on librdkafka's own stand-in for a broker.
class HorizonTest : public ::testing::Test {
protected:
    /// Writes a record of the state, and has it as a far timer.
    void addFar(std::string const& id, std::int64_t at) {
        std::string const digits = std::to_string(at);
        Owned<rd_kafka_topic_t, rd_kafka_topic_destroy> const topic{
            rd_kafka_topic_new(producer.get(), options.state.c_str(), nullptr)};
        rd_kafka_headers_t* const headers = rd_kafka_headers_new(2);
        rd_kafka_header_add(headers, header::kAt.data(), -1, digits.data(), -1);
        rd_kafka_header_add(headers, header::kTo.data(), -1, "orders", -1);
        rd_kafka_vu_t fields[5];
        fields[0].vtype = RD_KAFKA_VTYPE_RKT;
        fields[0].u.rkt = topic.get();
        fields[1].vtype = RD_KAFKA_VTYPE_KEY;
        fields[1].u.mem = {const_cast<char*>(id.data()), id.size()};
        fields[2].vtype = RD_KAFKA_VTYPE_VALUE;
        fields[2].u.mem = {const_cast<char*>("payload"), 7};
        fields[3].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
        fields[3].u.i = RD_KAFKA_MSG_F_COPY;
        fields[4].vtype = RD_KAFKA_VTYPE_HEADERS;
        fields[4].u.headers = headers;  // which it takes
        check(rd_kafka_produceva(producer.get(), fields, 5), "to write");
        timers.addFar(scheduleCommand(id, at), offset++);
    }
    /// Until nothing is left to do.
    void bringNear(std::int64_t now) {
        check(rd_kafka_flush(producer.get(), 20'000), "to write");
        auto const giveUpAt = std::chrono::steady_clock::now() + 60s;
        while (horizon.bringNear(now))
            if (std::chrono::steady_clock::now() > giveUpAt) return ADD_FAILURE() << "no end";
    }

    static Client makeProducer() {
        Configuration configuration{{{"test.mock.num.brokers", "1"}, {"log_level", "2"}}};
        return configuration.makeClient(RD_KAFKA_PRODUCER);
    }
    static Options makeOptions(rd_kafka_mock_cluster_t* brokers) {
        Options made;
        made.brokers = rd_kafka_mock_cluster_bootstraps(brokers);
        made.librdkafka = {{"log_level", "2"}};
        made.horizon = std::chrono::milliseconds{kHorizon};
        check(rd_kafka_mock_topic_create(brokers, made.state.c_str(), 1, 1), "to make a topic");
        return made;
    }

    Client producer = makeProducer();
    Options options = makeOptions(rd_kafka_handle_mock_cluster(producer.get()));
    Metrics metrics;
    Topics topics{options};
    Shared shared{options, topics, metrics, nullptr};
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
    check(rd_kafka_flush(producer.get(), 20'000), "to write");
    ASSERT_TRUE(horizon.bringNear(kNow));  // it knows of all three
    EXPECT_EQ(timers.takeOut("gone")->id(), "gone");
    timers.schedule(scheduleCommand("moved", kNow + 7));
    bringNear(kNow);
    EXPECT_EQ(timers.size(), 2U);
    EXPECT_EQ(timers.find("moved")->at, kNow + 7);
    EXPECT_NE(timers.find("stays"), nullptr);
}

TEST_F(HorizonTest, BringsNearWhatIsPushedBack) {
    for (char const* const id : {"a", "b", "c"}) addFar(id, kNow + 3 * kHorizon);
    check(rd_kafka_flush(producer.get(), 20'000), "to write");
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
