#include "components/kafka/daemon/Cancel.h"

#include "components/kafka/client/Client.h"
#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Admin.h"
#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Log.h"
#include "components/kafka/daemon/Messages.h"
#include "components/kafka/daemon/Topics.h"

#include <timingwheel/kafka/TimerClient.h>

#include <spdlog/spdlog.h>

#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>

namespace timingwheel::inline v1::kafka {

namespace {

/// Reads the topic of replies from where it ends when this is made.
class ReplyReader {
public:
    ReplyReader(Options const& options, std::int32_t partitions) {
        Settings settings = options.librdkafka;
        settings["bootstrap.servers"] = options.brokers;
        settings["group.id"] = options.group;  // librdkafka requires one; it joins none
        settings["enable.auto.commit"] = "false";
        settings["isolation.level"] = "read_committed";
        settings["auto.offset.reset"] = "error";
        Configuration configuration{settings};
        logTo(configuration);
        client_ = configuration.makeClient(RD_KAFKA_CONSUMER);
        check(rd_kafka_poll_set_consumer(client_.get()), "to read replies");
        PartitionList const list{rd_kafka_topic_partition_list_new(partitions)};
        for (std::int32_t number = 0; number < partitions; ++number)
            rd_kafka_topic_partition_list_add(list.get(), options.replies.c_str(), number)->offset =
                rangeOf(client_.get(), options.replies, number).high;
        check(rd_kafka_assign(client_.get(), list.get()), "to read replies");
    }

    /// The reply that carries the text, if it comes in time.
    std::optional<Reply> find(std::string_view text, std::chrono::steady_clock::time_point until) {
        while (std::chrono::steady_clock::now() < until) {
            Message const message{rd_kafka_consumer_poll(client_.get(), 100)};
            if (!message) continue;
            if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
                spdlog::warn("reading replies: {}", rd_kafka_message_errstr(message.get()));
                continue;
            }
            Record const record = recordOf(*message);
            if (lastHeader(record, header::kReply) != text) continue;
            auto const valueOf = [&record](std::string_view name) {
                return std::string{lastHeader(record, name).value_or(std::string_view{})};
            };
            return Reply{valueOf(header::kOutcome), valueOf(header::kReason)};
        }
        return std::nullopt;
    }

private:
    Client client_;
};

/// No other command has it.
std::string uniqueText() {
    std::random_device random;
    std::string text = "cancel";
    for (int i = 0; i < 4; ++i) text += "-" + std::to_string(random());
    return text;
}

}  // namespace

Reply cancel(Options const& options, std::string const& id, std::chrono::seconds timeout) {
    auto const until = std::chrono::steady_clock::now() + timeout;
    std::int32_t const partitions = Topics{options}.partitionsOf(options.replies);
    if (partitions == 0)
        throw std::runtime_error{"topic " + options.replies +
                                 " is not there, or may not be seen: a reply would go there"};
    ReplyReader replies{options, partitions};
    Settings settings = options.librdkafka;
    settings["message.timeout.ms"] = std::to_string(std::chrono::milliseconds{timeout}.count());
    TimerClient client{
        {.brokers = options.brokers, .commands = options.commands, .librdkafka = settings}};
    std::string const text = uniqueText();
    client.cancel(id, text).get();
    if (auto reply = replies.find(text, until)) return *reply;
    throw std::runtime_error{"no reply in " + options.replies + " within " +
                             std::to_string(timeout.count()) +
                             " s: the command is written, and counts once a worker reads it. Does "
                             "a worker run, with the same --replies?"};
}

}  // namespace timingwheel::inline v1::kafka
