#include "components/kafka/daemon/StateReader.h"

#include "components/kafka/daemon/Log.h"

#include <spdlog/spdlog.h>

#include <string>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

namespace {

/// librdkafka tries again by itself, where it was.
bool isPassing(rd_kafka_resp_err_t error) {
    return error == RD_KAFKA_RESP_ERR__TRANSPORT || error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
           error == RD_KAFKA_RESP_ERR__RESOLVE;
}

}  // namespace

StateReader::StateReader(Options const& options, std::int32_t partition)
    : topic_{options.state}, partition_{partition} {
    Settings settings = options.librdkafka;
    settings["bootstrap.servers"] = options.brokers;
    settings["group.id"] = options.group;  // librdkafka requires one; it joins none
    settings["enable.auto.commit"] = "false";
    settings["enable.partition.eof"] = "true";
    settings["isolation.level"] = "read_committed";
    // By default it would go to the end when a broker does not find the beginning.
    settings["auto.offset.reset"] = "error";
    settings["queued.max.messages.kbytes"] = "32768";
    // For small records, too: a client that has this many sleeps for a second.
    settings["queued.min.messages"] = "1000000";
    settings["fetch.wait.max.ms"] = "10";  // the end is near
    Configuration configuration{settings};
    logTo(configuration);
    client_ = configuration.makeClient(RD_KAFKA_CONSUMER);
    check(rd_kafka_poll_set_consumer(client_.get()), "to read the state");
}

void StateReader::goTo(std::int64_t offset) {
    PartitionList const list = partitionList(topic_, partition_, offset);
    check(rd_kafka_assign(client_.get(), list.get()), "to read the state");
}

void StateReader::rest() { check(rd_kafka_assign(client_.get(), nullptr), "to read the state"); }

Message StateReader::next(std::chrono::milliseconds patience) {
    Message message{rd_kafka_consumer_poll(client_.get(), static_cast<int>(patience.count()))};
    if (!message || message->err == RD_KAFKA_RESP_ERR_NO_ERROR ||
        message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
        return message;
    std::string const what = rd_kafka_message_errstr(message.get());
    if (!isPassing(message->err)) throw ClientError{"to read the state: " + what, message->err};
    spdlog::warn("partition {}: reading the state: {}", partition_, what);
    return {};
}

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
