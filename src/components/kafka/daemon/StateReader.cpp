#include "components/kafka/daemon/StateReader.h"

#include "components/kafka/daemon/Admin.h"
#include "components/kafka/daemon/Log.h"

#include <spdlog/spdlog.h>

#include <limits>
#include <utility>

namespace timingwheel::inline v1::kafka {

namespace {

// How long nothing may come before the end.
constexpr std::chrono::seconds kPatienceOfReading{30};

/// librdkafka tries again by itself, where it was.
bool isPassing(rd_kafka_resp_err_t error) {
    return error == RD_KAFKA_RESP_ERR__TRANSPORT || error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
           error == RD_KAFKA_RESP_ERR__RESOLVE;
}

}  // namespace

StateReader::StateReader(Options const& options, std::int32_t partition,
                         std::chrono::milliseconds wait)
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
    settings["fetch.wait.max.ms"] = std::to_string(wait.count());
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

void StateReader::readToEnd(std::function<void(Message)> const& take) {
    goTo(RD_KAFKA_OFFSET_BEGINNING);
    auto const [low, high] = rangeOf(client_.get(), topic_, partition_);
    // What seems to be empty is so if the reader finds its end, too.
    std::int64_t const end = low < high ? high : std::numeric_limits<std::int64_t>::max();
    auto came = std::chrono::steady_clock::now();
    for (std::int64_t read = 0; read < end;) {
        Message message = next(std::chrono::milliseconds{100});
        auto const now = std::chrono::steady_clock::now();
        if (!message) {
            if (now - came > kPatienceOfReading)
                throw ClientError{"to read " + topic_, RD_KAFKA_RESP_ERR__TIMED_OUT};
            continue;
        }
        came = now;
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) return;
        read = message->offset + 1;
        if (read <= end) take(std::move(message));
    }
}

std::optional<std::int64_t> StateReader::askForEnd() {
    constexpr int kTimeout = 1'000;
    std::int64_t low = -1;
    std::int64_t high = -1;
    auto const error = rd_kafka_query_watermark_offsets(client_.get(), topic_.c_str(), partition_,
                                                        &low, &high, kTimeout);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR || high < 0) return std::nullopt;
    return high;
}

std::optional<std::int64_t> StateReader::lastEnd() const {
    std::int64_t low = -1;
    std::int64_t high = -1;
    rd_kafka_get_watermark_offsets(client_.get(), topic_.c_str(), partition_, &low, &high);
    if (high < 0) return std::nullopt;
    return high;
}

}  // namespace timingwheel::inline v1::kafka
