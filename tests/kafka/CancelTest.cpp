#include "components/kafka/client/Client.h"
#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Cancel.h"
#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace timingwheel::test::kafka {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using timingwheel::kafka::cancel;
using timingwheel::kafka::check;
using timingwheel::kafka::Client;
using timingwheel::kafka::Configuration;
using timingwheel::kafka::lastHeader;
using timingwheel::kafka::Message;
using timingwheel::kafka::Options;
using timingwheel::kafka::partitionList;
using timingwheel::kafka::partitionOf;
using timingwheel::kafka::Record;
using timingwheel::kafka::recordOf;
using timingwheel::kafka::Reply;
namespace header = timingwheel::kafka::header;

constexpr std::int32_t kPartitions = 3;

/// librdkafka's own stand-in for a broker.
class CancelTest : public ::testing::Test {
protected:
    void SetUp() override {
        Configuration configuration{{{"test.mock.num.brokers", "1"}, {"log_level", "2"}}};
        producer = configuration.makeClient(RD_KAFKA_PRODUCER);
        brokers = rd_kafka_handle_mock_cluster(producer.get());
        ASSERT_NE(brokers, nullptr);
        options.brokers = rd_kafka_mock_cluster_bootstraps(brokers);
        options.librdkafka = {{"log_level", "2"}};
        options.replies = "timers.replies";
        for (std::string const& topic : {options.commands, options.replies})
            check(rd_kafka_mock_topic_create(brokers, topic.c_str(), kPartitions, 1), "a topic");
    }
    void reply(std::string const& text, std::string const& outcome, std::string const& reason) {
        rd_kafka_headers_t* const headers = rd_kafka_headers_new(3);
        for (auto const& [name, value] : {std::pair{header::kReply, text},
                                          {header::kOutcome, outcome},
                                          {header::kReason, reason}})
            check(rd_kafka_header_add(headers, name.data(), -1, value.c_str(), -1), "a header");
        rd_kafka_vu_t fields[2];
        fields[0].vtype = RD_KAFKA_VTYPE_TOPIC;
        fields[0].u.cstr = options.replies.c_str();
        fields[1].vtype = RD_KAFKA_VTYPE_HEADERS;
        fields[1].u.headers = headers;
        check(rd_kafka_produceva(producer.get(), fields, 2), "to reply");
        check(rd_kafka_flush(producer.get(), 20'000), "to reply");
    }
    /// The first command of the id's partition, once it is there.
    Message command(std::string const& id) {
        Configuration configuration{{{"bootstrap.servers", options.brokers},
                                     {"group.id", "worker"},
                                     {"auto.offset.reset", "earliest"},
                                     {"log_level", "2"}}};
        reader = configuration.makeClient(RD_KAFKA_CONSUMER);
        check(rd_kafka_poll_set_consumer(reader.get()), "to read");
        check(rd_kafka_assign(reader.get(),
                              partitionList(options.commands, partitionOf(id, kPartitions),
                                            RD_KAFKA_OFFSET_BEGINNING)
                                  .get()),
              "to read");
        return Message{rd_kafka_consumer_poll(reader.get(), 60'000)};
    }

    Client producer;
    rd_kafka_mock_cluster_t* brokers = nullptr;
    Client reader;
    Options options;
};

TEST_F(CancelTest, ReturnsTheReplyToItsOwnCommand) {
    reply("of earlier", "cancelled", "");
    std::thread worker{[this] {
        Message const message = command("4711");
        ASSERT_TRUE(message);
        Record const record = recordOf(*message);
        EXPECT_EQ(record.key, "4711");
        EXPECT_EQ(lastHeader(record, header::kCommand), header::kCancel);
        std::string const text{lastHeader(record, header::kReply).value_or("")};
        EXPECT_GT(text.size(), 20U);
        reply("of another", "cancelled", "");
        reply(text, "refused", "it was not right");
    }};
    Reply const answer = cancel(options, "4711", 60s);
    worker.join();
    EXPECT_EQ(answer.outcome, "refused");
    EXPECT_EQ(answer.reason, "it was not right");
}

std::string errorOf(Options const& options, std::chrono::seconds timeout = 1s) {
    try {
        (void)cancel(options, "4711", timeout);
    } catch (std::runtime_error const& error) {
        return error.what();
    }
    return "there is a reply";
}

TEST_F(CancelTest, SaysThatTheCommandIsWrittenIfNobodyReplies) {
    std::string error = errorOf(options);
    // A busy machine may need longer than that to write it.
    for (auto timeout = 4s; error.ends_with("Message timed out") && timeout < 300s; timeout *= 4)
        error = errorOf(options, timeout);
    EXPECT_THAT(error, MatchesRegex("no reply in timers.replies within [0-9]+ s: the command is "
                                    "written.*"));
    EXPECT_TRUE(command("4711"));
}

TEST_F(CancelTest, SaysWhatIsMissingBeforeItWaits) {
    Options other = options;
    other.replies = "nowhere";
    EXPECT_THAT(errorOf(other), HasSubstr("topic nowhere is not there"));
    rd_kafka_mock_push_request_errors(brokers, 0 /* Produce */, 1,
                                      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    EXPECT_THAT(errorOf(options), HasSubstr("a command was not confirmed"));
}

}  // namespace
}  // namespace timingwheel::test::kafka
