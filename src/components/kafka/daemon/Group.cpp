#include "components/kafka/daemon/Group.h"

#include "components/kafka/client/Client.h"
#include "components/kafka/daemon/Admin.h"
#include "components/kafka/daemon/Log.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace timingwheel::inline v1::kafka {

namespace {

static_assert(RD_KAFKA_VERSION >= 0x02000000, "timingwheel-kafka needs librdkafka 2.0 or newer");

Client clientOf(Options const& options) {
    Settings settings = options.librdkafka;
    settings["bootstrap.servers"] = options.brokers;
    settings["group.id"] = options.group;  // whose offsets it asks for; it joins none
    // The lag counts what is not committed yet, too.
    settings["isolation.level"] = "read_uncommitted";
    Configuration configuration{settings};
    logTo(configuration);
    return configuration.makeClient(RD_KAFKA_CONSUMER);
}

/// Fills in the state, and who has which partition.
void describe(rd_kafka_t* client, Options const& options, Group& group) {
    Queue const queue{rd_kafka_queue_new(client)};
    AdminOptions const how = adminOptions(client, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS);
    char const* name = options.group.c_str();
    rd_kafka_DescribeConsumerGroups(client, &name, 1, how.get(), queue.get());
    std::string const what = "to describe the group " + options.group;
    Event const event = await(queue, what.c_str());
    std::size_t count = 0;
    auto const* const* const described = rd_kafka_DescribeConsumerGroups_result_groups(
        rd_kafka_event_DescribeConsumerGroups_result(event.get()), &count);
    if (count != 1) throw std::runtime_error{what + ": it was not answered"};
    auto const* const found = described[0];
    if (auto const* const error = rd_kafka_ConsumerGroupDescription_error(found)) {
        // Newer brokers say so; older ones that it is dead.
        if (rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND)
            throw std::runtime_error{what + ": " + rd_kafka_error_string(error)};
        group.state = "not there";
        return;
    }
    group.state =
        rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupDescription_state(found));
    std::size_t const members = rd_kafka_ConsumerGroupDescription_member_count(found);
    for (std::size_t i = 0; i < members; ++i) {
        auto const* const member = rd_kafka_ConsumerGroupDescription_member(found, i);
        auto const* const owned =
            rd_kafka_MemberAssignment_partitions(rd_kafka_MemberDescription_assignment(member));
        for (int j = 0; owned != nullptr && j < owned->cnt; ++j) {
            auto const number = static_cast<std::size_t>(owned->elems[j].partition);
            if (owned->elems[j].topic == options.commands && number < group.partitions.size())
                group.partitions[number].worker = {rd_kafka_MemberDescription_consumer_id(member),
                                                   rd_kafka_MemberDescription_host(member)};
        }
    }
}

void readOffsets(rd_kafka_t* client, Options const& options, Group& group) {
    auto const count = static_cast<std::int32_t>(group.partitions.size());
    PartitionList const list{rd_kafka_topic_partition_list_new(count)};
    rd_kafka_topic_partition_list_add_range(list.get(), options.commands.c_str(), 0, count - 1);
    check(rd_kafka_committed(client, list.get(), kRequestTimeout),
          "to ask for the offsets of the group " + options.group);
    for (int i = 0; i < list->cnt; ++i) {
        auto const& committed = list->elems[i];
        check(committed.err, "to ask for the offsets of the group " + options.group);
        auto const [low, high] = rangeOf(client, options.commands, committed.partition);
        auto& partition = group.partitions[static_cast<std::size_t>(committed.partition)];
        if (committed.offset >= 0) partition.offset = committed.offset;
        partition.lag = high - std::clamp(committed.offset, low, high);
    }
}

}  // namespace

Group Group::of(Options const& options, std::int32_t partitions) {
    Group group;
    group.partitions.resize(static_cast<std::size_t>(partitions));
    Client const client = clientOf(options);
    describe(client.get(), options, group);
    readOffsets(client.get(), options, group);
    return group;
}

}  // namespace timingwheel::inline v1::kafka
