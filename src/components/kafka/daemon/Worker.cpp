#include "components/kafka/daemon/Worker.h"

#include "components/kafka/daemon/Log.h"
#include "components/kafka/daemon/Producer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace timingwheel::inline v1::kafka {

namespace {

// How long the consumer waits for commands before it looks after its partitions.
constexpr std::chrono::milliseconds kAttention{10};
constexpr int kSeekTimeout = 5'000;
// A member learns from its heartbeat that another has left.
constexpr std::chrono::milliseconds kHeartbeat{100};
// librdkafka joins a group once a second at most. So a partition that moves to a worker that has
// just joined stays where it is until all can join again, and take it there.
constexpr std::chrono::milliseconds kRejoin{1'100};
// How long a worker follows others before it joins them, at most.
constexpr std::chrono::minutes kLongestWarmUp{2};
constexpr int kGroupTimeout = 5'000;

std::string listed(rd_kafka_topic_partition_list_t const& partitions) {
    std::string numbers;
    for (int i = 0; i < partitions.cnt; ++i)
        numbers += (i == 0 ? "" : ", ") + std::to_string(partitions.elems[i].partition);
    return numbers;
}

}  // namespace

Worker::Worker(Options const& options, Topics& topics, Metrics& metrics)
    : options_{options}, shared_{options, topics, metrics, nullptr} {
    Producer::checkSettings(options);  // or each partition would begin anew for ever
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
    settings.emplace("heartbeat.interval.ms",
                     std::to_string(std::min(options.sessionTimeout / 4, kHeartbeat).count()));
    // librdkafka's default, and it must not be shorter than the session.
    settings.emplace("max.poll.interval.ms", std::to_string(std::max<std::int64_t>(
                                                 options.sessionTimeout.count(), 300'000)));
    settings.emplace("queued.max.messages.kbytes", "16384");
    // A take-over asks for offsets by the same connection, where it waits behind a read.
    settings.emplace("fetch.wait.max.ms", "50");
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
    count_ = shared_.topics.partitionsOf(options_.commands);
    warmUp(isStopping);
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

/// Others go on until it joins them. So it first reads what it may get.
void Worker::warmUp(std::atomic<bool> const& isStopping) {
    if (options_.standby == 0) return;
    auto const until = std::chrono::steady_clock::now() + kLongestWarmUp;
    auto const isReady = [](auto const& follower) { return follower.second->isReady(); };
    while (!isStopping && hasOthers() && std::chrono::steady_clock::now() < until) {
        sayAlive();
        if (followers_.empty()) spdlog::info("follows what others own before it joins them");
        followTheRest();
        if (std::all_of(followers_.begin(), followers_.end(), isReady)) return;
        std::this_thread::sleep_for(kHeartbeat);
    }
}

/// Whether the group has members. False if no broker says so.
bool Worker::hasOthers() const {
    struct rd_kafka_group_list const* list = nullptr;
    if (rd_kafka_list_groups(consumer_.get(), options_.group.c_str(), &list, kGroupTimeout) !=
        RD_KAFKA_RESP_ERR_NO_ERROR)
        return false;
    Owned<struct rd_kafka_group_list const, rd_kafka_group_list_destroy> const groups{list};
    return groups->group_cnt > 0 && groups->groups[0].member_cnt > 0;
}

void Worker::followTheRest() {
    if (options_.standby == 0 || isStopping_) return;
    for (std::int32_t number = 0; number < count_; ++number)
        if (!partitions_.contains(number) && !followers_.contains(number))
            followers_.emplace(number, std::make_unique<Follower>(shared_, number));
}

/// It leaves the group once transactions are ended, and before memory is free.
void Worker::stop() {
    isStopping_ = true;
    for (auto& [number, partition] : partitions_) partition->stop();
    for (auto& [number, follower] : followers_) follower->stop();
    for (auto& [number, partition] : partitions_) partition->awaitEnd();
    if (rd_kafka_consumer_closed(consumer_.get()) == 0) rd_kafka_consumer_close(consumer_.get());
    partitions_.clear();
    followers_.clear();
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
    if (found == partitions_.end()) return;
    found->second->inbox().put(std::move(message), [&] {
        std::int64_t low = -1;
        std::int64_t high = -1;
        rd_kafka_get_watermark_offsets(consumer_.get(), options_.commands.c_str(), found->first,
                                       &low, &high);
        return low;
    });
}

/// The client's own thread answers. Unless something wakes it, it sends a heartbeat each second.
void Worker::wakeClient() const {
    rd_kafka_mem_free(consumer_.get(), rd_kafka_memberid(consumer_.get()));
}

/// Goes to where partitions ask to begin, and pauses those that have enough.
void Worker::attend() {
    wakeClient();
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
    if (partitions->cnt > 0) {
        check(rd_kafka_pause_partitions(consumer_.get(), partitions), "to pause");
        for (int i = 0; i < partitions->cnt; ++i) {
            std::int32_t const number = partitions->elems[i].partition;
            auto follower = followers_.extract(number);
            partitions_.erase(number);  // its metrics go before there are new ones
            partitions_.emplace(
                number, std::make_unique<Partition>(
                            shared_, number, follower ? std::move(follower.mapped()) : nullptr));
        }
    }
    followTheRest();
    shared_.metrics.assigned();
    service_.notify("READY=1\n" + status());
}

void Worker::revoke(rd_kafka_topic_partition_list_t* partitions) {
    bool const areLost = rd_kafka_assignment_lost(consumer_.get()) != 0;
    if (partitions->cnt > 0)
        spdlog::info("{}: partition {}", areLost ? "lost" : "revoked", listed(*partitions));
    if (partitions->cnt > 0 && !areLost && !isStopping_) {
        auto const until = std::chrono::steady_clock::now() + kRejoin;
        while (std::chrono::steady_clock::now() < until) {
            wakeClient();
            std::this_thread::sleep_for(kAttention);
        }
    }
    for (int i = 0; i < partitions->cnt; ++i) {
        auto const found = partitions_.find(partitions->elems[i].partition);
        if (found == partitions_.end()) continue;
        found->second->stop();
        if (areLost) lost_.push_back(found->second->metrics());
    }
    for (int i = 0; i < partitions->cnt; ++i) {
        auto const found = partitions_.find(partitions->elems[i].partition);
        if (found != partitions_.end()) found->second->awaitEnd();
    }
    // The next owner waits for this, and not for memory to be free.
    check(rd_kafka_incremental_unassign(consumer_.get(), partitions), "to be unassigned");
    for (int i = 0; i < partitions->cnt; ++i) partitions_.erase(partitions->elems[i].partition);
    followTheRest();
    service_.notify(status());
}

/// For systemd.
std::string Worker::status() const {
    std::string numbers;
    for (auto const& [number, partition] : partitions_) numbers += " " + std::to_string(number);
    return "STATUS=" + options_.commands + ": " +
           (numbers.empty() ? "no partition" : "partition" + numbers);
}

}  // namespace timingwheel::inline v1::kafka
