// A test's state and commands, on librdkafka's own stand-in for a broker.

#pragma once

#include "components/kafka/client/Client.h"
#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Assignment.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka_mock.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

namespace timingwheel::test::kafka {

template <class Condition>
bool comesTrue(Condition const& condition) {
    auto const giveUpAt = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (!condition()) {
        if (std::chrono::steady_clock::now() > giveUpAt) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    return true;
}

/// One partition of each, and what a worker has, which logs nothing.
class MockedState : public ::testing::Test {
protected:
    using Options = timingwheel::kafka::Options;

    static void SetUpTestSuite() { spdlog::set_level(spdlog::level::off); }
    static void TearDownTestSuite() { spdlog::set_level(spdlog::level::info); }

    explicit MockedState(std::chrono::milliseconds horizon = Options{}.horizon)
        : options{makeOptions(brokers(), horizon)} {}

    /// Writes a record of the state; without a value a tombstone.
    void write(std::string const& key, std::optional<std::string> const& value,
               std::int64_t at = 0) {
        using timingwheel::kafka::header::kAt;
        using timingwheel::kafka::header::kTo;
        std::string const digits = std::to_string(at);
        timingwheel::kafka::Owned<rd_kafka_topic_t, rd_kafka_topic_destroy> const topic{
            rd_kafka_topic_new(producer.get(), options.state.c_str(), nullptr)};
        rd_kafka_headers_t* const headers = rd_kafka_headers_new(2);
        rd_kafka_header_add(headers, kAt.data(), -1, digits.data(), -1);
        rd_kafka_header_add(headers, kTo.data(), -1, "orders", -1);
        rd_kafka_vu_t fields[5];
        fields[0].vtype = RD_KAFKA_VTYPE_RKT;
        fields[0].u.rkt = topic.get();
        fields[1].vtype = RD_KAFKA_VTYPE_KEY;
        fields[1].u.mem = {const_cast<char*>(key.data()), key.size()};
        fields[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
        fields[2].u.i = RD_KAFKA_MSG_F_COPY;
        fields[3].vtype = RD_KAFKA_VTYPE_HEADERS;
        fields[3].u.headers = headers;  // which it takes
        fields[4].vtype = RD_KAFKA_VTYPE_VALUE;
        if (value) fields[4].u.mem = {const_cast<char*>(value->data()), value->size()};
        timingwheel::kafka::check(rd_kafka_produceva(producer.get(), fields, value ? 5 : 4),
                                  "to write");
    }
    rd_kafka_mock_cluster_t* brokers() const {
        return rd_kafka_handle_mock_cluster(producer.get());
    }
    void flush() { timingwheel::kafka::check(rd_kafka_flush(producer.get(), 20'000), "to write"); }

private:
    static timingwheel::kafka::Client makeProducer() {
        timingwheel::kafka::Configuration configuration{
            {{"test.mock.num.brokers", "1"}, {"log_level", "2"}}};
        return configuration.makeClient(RD_KAFKA_PRODUCER);
    }
    static Options makeOptions(rd_kafka_mock_cluster_t* brokers,
                               std::chrono::milliseconds horizon) {
        Options made;
        made.brokers = rd_kafka_mock_cluster_bootstraps(brokers);
        made.librdkafka = {{"log_level", "2"}};
        made.horizon = horizon;
        for (auto const& topic : {made.commands, made.state})
            timingwheel::kafka::check(rd_kafka_mock_topic_create(brokers, topic.c_str(), 1, 1),
                                      "to make a topic");
        return made;
    }

    timingwheel::kafka::Client producer = makeProducer();

protected:
    Options options;
    timingwheel::kafka::Metrics metrics;
    timingwheel::kafka::Topics topics{options};
    timingwheel::kafka::Shared shared{options, topics, metrics, nullptr};
};

}  // namespace timingwheel::test::kafka
