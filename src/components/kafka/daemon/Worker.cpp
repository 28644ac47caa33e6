#include "components/kafka/daemon/Worker.h"

#include "components/kafka/daemon/Log.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

namespace {

// How long the consumer waits for commands before it looks after its partitions.
constexpr std::chrono::milliseconds kAttention{10};
constexpr int kSeekTimeout = 5'000;

std::string listed(rd_kafka_topic_partition_list_t const& partitions) {
    std::string numbers;
    for (int i = 0; i < partitions.cnt; ++i)
        numbers += (i == 0 ? "" : ", ") + std::to_string(partitions.elems[i].partition);
    return numbers;
}

}  // namespace

Worker::Worker(Options const& options, Topics& topics, Metrics& metrics)
    : options_{options}, shared_{options, topics, metrics, nullptr} {
    Settings settings = options.librdkafka;
    settings["bootstrap.servers"] = options.brokers;
    settings["group.id"] = options.group;
    settings["enable.auto.commit"] = "false";
    settings["enable.auto.offset.store"] = "false";
    settings["auto.offset.reset"] = "earliest";
    // Behind the last command are the ends of transactions, and what was aborted.
    settings["enable.partition.eof"] = "true";
    // Also has an offset that is asked for wait until no transaction is open that would change it.
    settings["isolation.level"] = "read_committed";
    // A partition that stays does not have to be taken over again.
    settings["partition.assignment.strategy"] = "cooperative-sticky";
    settings["session.timeout.ms"] = std::to_string(options.sessionTimeout.count());
    settings.emplace("heartbeat.interval.ms", std::to_string(options.sessionTimeout.count() / 4));
    // librdkafka's default, and it must not be shorter than the session.
    settings.emplace("max.poll.interval.ms", std::to_string(std::max<std::int64_t>(
                                                 options.sessionTimeout.count(), 300'000)));
    settings.emplace("queued.max.messages.kbytes", "16384");
    // For small records, too: a client that has this many sleeps for a second.
    settings.emplace("queued.min.messages", "1000000");
    Configuration configuration{settings};
    logTo(configuration);
    rd_kafka_conf_set_opaque(configuration.get(), this);
    rd_kafka_conf_set_rebalance_cb(configuration.get(), onRebalance);
    consumer_ = configuration.makeClient(RD_KAFKA_CONSUMER);
    shared_.consumer = consumer_.get();
    check(rd_kafka_poll_set_consumer(consumer_.get()), "to consume");
}

void Worker::run(std::atomic<bool> const& isStopping) {
    PartitionList const topics = partitionList(options_.commands, RD_KAFKA_PARTITION_UA);
    shared_.topics.watch();
    check(rd_kafka_subscribe(consumer_.get(), topics.get()), "to join group " + options_.group);
    auto attended = std::chrono::steady_clock::now();
    while (!isStopping) {
        put(Message{rd_kafka_consumer_poll(consumer_.get(), static_cast<int>(kAttention.count()))});
        if (failure_) std::rethrow_exception(failure_);
        if (auto const now = std::chrono::steady_clock::now(); now - attended >= kAttention) {
            attended = now;
            attend();
            sayAlive();
        }
    }
    service_.notify("STOPPING=1");
    spdlog::info("stopping: ends its transactions and leaves the group");
    stop();
}

Worker::~Worker() { stop(); }

void Worker::stop() {
    for (auto& [number, partition] : partitions_) partition->stop();
    partitions_.clear();
    if (rd_kafka_consumer_closed(consumer_.get()) == 0) rd_kafka_consumer_close(consumer_.get());
}

void Worker::put(Message message) {
    if (!message) return;
    if (message->err == RD_KAFKA_RESP_ERR__FATAL) {
        char reason[512];
        auto const code = rd_kafka_fatal_error(consumer_.get(), reason, sizeof reason);
        throw ClientError{"to read " + options_.commands + ": " + reason, code};
    }
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR &&
        message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        spdlog::warn("reading {}: {}", options_.commands, rd_kafka_message_errstr(message.get()));
        return;
    }
    auto const found = partitions_.find(message->partition);
    if (found != partitions_.end()) found->second->inbox().put(std::move(message));
}

/// Goes to where partitions ask to begin, and pauses those that have enough.
void Worker::attend() {
    for (auto& [number, partition] : partitions_) {
        sayAlive();  // a seek may wait
        PartitionList const list = partitionList(options_.commands, number);
        Inbox& inbox = partition->inbox();
        if (auto const begin = inbox.wantedBegin()) {
            list->elems[0].offset = *begin;
            rd_kafka_error_t* const error =
                rd_kafka_seek_partitions(consumer_.get(), list.get(), kSeekTimeout);
            // Too early: it is tried again.
            if (error != nullptr) {
                rd_kafka_error_destroy(error);
                continue;
            }
            if (list->elems[0].err != RD_KAFKA_RESP_ERR_NO_ERROR || !inbox.open(*begin)) continue;
            rd_kafka_resume_partitions(consumer_.get(), list.get());
            partition->isPaused = false;
        } else if (!partition->isPaused && inbox.isFull()) {
            rd_kafka_pause_partitions(consumer_.get(), list.get());
            partition->isPaused = true;
        } else if (partition->isPaused && inbox.isOpen() && inbox.isHalfEmpty()) {
            rd_kafka_resume_partitions(consumer_.get(), list.get());
            partition->isPaused = false;
        }
    }
}

/// To probes, and to systemd.
void Worker::sayAlive() {
    shared_.metrics.wentRound();
    service_.keepAlive();
}

void Worker::onRebalance(rd_kafka_t*, rd_kafka_resp_err_t what,
                         rd_kafka_topic_partition_list_t* partitions, void* self) {
    auto& worker = *static_cast<Worker*>(self);
    try {
        if (what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
            worker.assign(partitions);
        else
            worker.revoke(partitions);
    } catch (std::exception const& error) {
        // An exception does not pass through librdkafka.
        spdlog::error("rebalance failed: {}", error.what());
        worker.failure_ = std::current_exception();
    }
}

void Worker::assign(rd_kafka_topic_partition_list_t* partitions) {
    if (partitions->cnt > 0) spdlog::info("assigned: partition {}", listed(*partitions));
    lost_.clear();
    // They are paused until they are taken over, and then begin where that says.
    for (int i = 0; i < partitions->cnt; ++i)
        partitions->elems[i].offset = RD_KAFKA_OFFSET_BEGINNING;
    check(rd_kafka_incremental_assign(consumer_.get(), partitions), "to be assigned");
    if (partitions->cnt > 0)
        check(rd_kafka_pause_partitions(consumer_.get(), partitions), "to pause");
    for (int i = 0; i < partitions->cnt; ++i) {
        std::int32_t const number = partitions->elems[i].partition;
        partitions_.erase(number);  // its metrics go before there are new ones
        partitions_.emplace(number, std::make_unique<Partition>(shared_, number));
    }
    shared_.metrics.assigned();
    service_.notify("READY=1\n" + status());
}

void Worker::revoke(rd_kafka_topic_partition_list_t* partitions) {
    bool const areLost = rd_kafka_assignment_lost(consumer_.get()) != 0;
    if (partitions->cnt > 0)
        spdlog::info("{}: partition {}", areLost ? "lost" : "revoked", listed(*partitions));
    for (int i = 0; i < partitions->cnt; ++i) {
        auto const found = partitions_.find(partitions->elems[i].partition);
        if (found == partitions_.end()) continue;
        found->second->stop();
        if (areLost) lost_.push_back(found->second->metrics());
    }
    for (int i = 0; i < partitions->cnt; ++i) partitions_.erase(partitions->elems[i].partition);
    check(rd_kafka_incremental_unassign(consumer_.get(), partitions), "to be unassigned");
    service_.notify(status());
}

/// For systemd.
std::string Worker::status() const {
    std::string numbers;
    for (auto const& [number, partition] : partitions_) numbers += " " + std::to_string(number);
    return "STATUS=" + options_.commands + ": " +
           (numbers.empty() ? "no partition" : "partition" + numbers);
}

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
