#include "components/kafka/daemon/StateReader.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using namespace std::chrono_literals;
using timingwheel::kafka::check;
using timingwheel::kafka::Client;
using timingwheel::kafka::ClientError;
using timingwheel::kafka::Configuration;
using timingwheel::kafka::Message;
using timingwheel::kafka::Options;
using timingwheel::kafka::Owned;
using timingwheel::kafka::StateReader;

// The numbers of requests in Kafka's protocol.
constexpr std::int16_t kFetch = 1;
constexpr std::int16_t kListOffsets = 2;

/// librdkafka's own stand-in for a broker, with a state of three records.
class StateReaderTest : public ::testing::Test {
protected:
    void SetUp() override {
        Configuration configuration{{{"test.mock.num.brokers", "1"}, {"log_level", "2"}}};
        producer = configuration.makeClient(RD_KAFKA_PRODUCER);
        brokers = rd_kafka_handle_mock_cluster(producer.get());
        ASSERT_NE(brokers, nullptr);
        options.brokers = rd_kafka_mock_cluster_bootstraps(brokers);
        options.librdkafka = {{"log_level", "2"}};
        check(rd_kafka_mock_topic_create(brokers, options.state.c_str(), 1, 1), "to make a topic");
        write(3);
    }
    void write(int records) {
        Owned<rd_kafka_topic_t, rd_kafka_topic_destroy> const topic{
            rd_kafka_topic_new(producer.get(), options.state.c_str(), nullptr)};
        for (int i = 0; i < records; ++i)
            ASSERT_EQ(
                rd_kafka_produce(topic.get(), 0, RD_KAFKA_MSG_F_COPY, nullptr, 0, "a", 1, nullptr),
                0);
        check(rd_kafka_flush(producer.get(), 20'000), "to write");
    }
    /// How many records it reads before it comes to the end.
    std::int64_t read() {
        StateReader reader{options, 0};
        reader.goTo(RD_KAFKA_OFFSET_BEGINNING);
        std::int64_t count = 0;
        auto const giveUpAt = std::chrono::steady_clock::now() + 60s;
        while (std::chrono::steady_clock::now() < giveUpAt) {
            Message const message = reader.next(100ms);
            if (!message) continue;
            if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) return count;
            ++count;
        }
        ADD_FAILURE() << "there is no end";
        return count;
    }

    Client producer;
    rd_kafka_mock_cluster_t* brokers = nullptr;
    Options options;
};

TEST_F(StateReaderTest, ReadsFromTheBeginningToTheEnd) { EXPECT_EQ(read(), 3); }

// It went to the end, and a worker that had taken over knew of no timer.
TEST_F(StateReaderTest, ThrowsWhereTheBrokerDoesNotSayWhereItBegins) {
    rd_kafka_mock_push_request_errors(brokers, kListOffsets, 1,
                                      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    EXPECT_THROW(read(), ClientError);
}

TEST_F(StateReaderTest, ThrowsWhereTheBrokerDoesNotHaveWhatItAsksFor) {
    rd_kafka_mock_push_request_errors(brokers, kFetch, 1, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE);
    EXPECT_THROW(read(), ClientError);
}

TEST_F(StateReaderTest, PassesOnWhatIsThereUpToTheEnd) {
    std::vector<std::int64_t> offsets;
    StateReader{options, 0}.readToEnd([&](Message message) {
        offsets.push_back(message->offset);
        // What comes meanwhile does not hold it up.
        write(10);
    });
    EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 1, 2}));
}

TEST_F(StateReaderTest, PassesOnNothingOfAnEmptyPartition) {
    options.state = "empty";
    check(rd_kafka_mock_topic_create(brokers, "empty", 1, 1), "to make a topic");
    StateReader{options, 0}.readToEnd([](Message const&) { FAIL(); });
}

// librdkafka drops the error of one request, and then says that the partition begins at its end.
TEST_F(StateReaderTest, PassesOnAllOrThrowsWhereTheBrokerDoesNotSayWhereItBegins) {
    for (int const errors : {1, 2}) {
        int count = 0;
        for (int i = 0; i < errors; ++i)
            rd_kafka_mock_push_request_errors(brokers, kListOffsets, 1,
                                              RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
        try {
            StateReader{options, 0}.readToEnd([&count](Message const&) { ++count; });
            EXPECT_EQ(count, 3);
        } catch (ClientError const& error) {
            EXPECT_EQ(error.code(), RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
        }
    }
}

TEST_F(StateReaderTest, ThrowsWhereItCannotReadToTheEnd) {
    rd_kafka_mock_push_request_errors(brokers, kFetch, 1,
                                      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    EXPECT_THROW(StateReader(options, 0).readToEnd([](Message const&) {}), ClientError);
}

}  // namespace
}  // namespace timingwheel::test::kafka
