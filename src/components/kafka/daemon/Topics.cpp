#include "components/kafka/daemon/Topics.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Admin.h"
#include "components/kafka/daemon/Log.h"
#include "components/kafka/daemon/Note.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::kafka {

namespace {

constexpr std::int64_t kHour = 3'600'000;
// With this many, one may be away and two must confirm.
constexpr std::int32_t kReplicas = 3;
constexpr std::chrono::seconds kUntilAllKnow{20};
constexpr std::chrono::milliseconds kBetweenLooks{50};
constexpr std::chrono::milliseconds kUntilMostKnow{200};
constexpr std::chrono::seconds kRefreshPause{1};
constexpr std::size_t kMaxMissing = 1'000;
constexpr int kCountTimeout = 1'000;

using NewTopic = Owned<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy>;
using Topic = Owned<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using ConfigResource = Owned<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>;

NewTopic newTopic(std::string const& name, Options const& options,
                  std::vector<std::pair<char const*, char const*>> const& settings) {
    char reason[256];
    NewTopic topic{rd_kafka_NewTopic_new(name.c_str(), options.createTopics, options.replication,
                                         reason, sizeof reason)};
    if (!topic) throw std::runtime_error{"topic " + name + ": " + reason};
    for (auto const& [key, value] : settings)
        check(rd_kafka_NewTopic_set_config(topic.get(), key, value), key);
    if (options.replication >= kReplicas)
        check(rd_kafka_NewTopic_set_config(topic.get(), "min.insync.replicas", "2"),
              "min.insync.replicas");
    return topic;
}

[[noreturn]] void refuse(std::string const& topic, std::string const& name,
                         std::string const& value, std::string const& must) {
    throw std::runtime_error{"topic " + topic + ": " + name + " is " + value + ": " + must};
}

}  // namespace

Topics::Topics(Options const& options) : options_{options} {
    Settings settings = options.librdkafka;
    settings["bootstrap.servers"] = options.brokers;
    settings["isolation.level"] = "read_uncommitted";
    settings["group.id"] = options.group;  // librdkafka requires one; it joins none
    Configuration configuration{settings};
    logTo(configuration);
    client_ = configuration.makeClient(RD_KAFKA_CONSUMER);
}

void Topics::create() {
    std::vector<NewTopic> topics;
    topics.push_back(newTopic(options_.commands, options_,
                              {{"cleanup.policy", "delete"}, {"retention.ms", "604800000"}}));
    // The active segment is never compacted, so it ends soon: what a restart reads stays short.
    topics.push_back(newTopic(options_.state, options_,
                              {{"cleanup.policy", "compact"},
                               {"segment.ms", "3600000"},
                               {"segment.bytes", "104857600"},
                               {"min.cleanable.dirty.ratio", "0.3"},
                               {"delete.retention.ms", "86400000"}}));
    topics.push_back(newTopic(options_.deadLetters, options_, {}));
    if (!options_.replies.empty()) topics.push_back(newTopic(options_.replies, options_, {}));
    std::vector<rd_kafka_NewTopic_t*> handles;
    for (NewTopic const& topic : topics) handles.push_back(topic.get());

    Queue const queue{rd_kafka_queue_new(client_.get())};
    AdminOptions const options = adminOptions(client_.get(), RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_CreateTopics(client_.get(), handles.data(), handles.size(), options.get(),
                          queue.get());
    Event const event = await(queue, "to make topics");
    std::size_t count = 0;
    auto const* const results = rd_kafka_CreateTopics_result_topics(
        rd_kafka_event_CreateTopics_result(event.get()), &count);
    for (std::size_t i = 0; i < count; ++i) {
        auto const error = rd_kafka_topic_result_error(results[i]);
        std::string const name = rd_kafka_topic_result_name(results[i]);
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
            spdlog::info("topic {} made, with {} partitions", name, options_.createTopics);
        else if (error != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
            throw std::runtime_error{"to make topic " + name + ": " +
                                     rd_kafka_topic_result_error_string(results[i])};
    }
}

std::int32_t Topics::check() {
    std::vector<std::string> names{options_.commands, options_.state, options_.deadLetters};
    if (!options_.replies.empty()) names.push_back(options_.replies);
    // The controller says yes to create() before all brokers know, and any of them may answer.
    auto const giveUpAt =
        Clock::now() + (options_.createTopics == 0 ? std::chrono::seconds{0} : kUntilAllKnow);
    for (std::string missing; !(missing = missingOf(names)).empty();) {
        if (Clock::now() >= giveUpAt)
            throw std::runtime_error{"topic " + missing +
                                     " is not there, or may not be seen: make it, or have it made "
                                     "by --create-topics"};
        std::this_thread::sleep_for(kBetweenLooks);
    }
    {
        std::lock_guard const lock{mutex_};
        std::int32_t const commands = partitions_[options_.commands];
        std::int32_t const state = partitions_[options_.state];
        if (commands != state)
            throw std::runtime_error{
                "topic " + options_.commands + " has " + std::to_string(commands) +
                " partitions, and " + options_.state + " has " + std::to_string(state) +
                ": they must have as many, for a timer's partition is the same in both. If "
                "partitions were added: docs/beyond.md, \"More partitions\""};
    }
    while (!checkSettings(names, Clock::now() >= giveUpAt))
        std::this_thread::sleep_for(kBetweenLooks);
    return partitionsOf(options_.commands);
}

std::string Topics::missingOf(std::vector<std::string> const& names) {
    std::lock_guard const lock{mutex_};
    refresh();
    for (std::string const& name : names)
        if (!partitions_.contains(name)) return name;
    return {};
}

/// False if a broker does not know one of them yet, unless it must.
bool Topics::checkSettings(std::vector<std::string> const& topics, bool mustKnow) {
    std::vector<ConfigResource> resources;
    std::vector<rd_kafka_ConfigResource_t*> handles;
    for (std::string const& topic : topics) {
        resources.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
        handles.push_back(resources.back().get());
    }
    Queue const queue{rd_kafka_queue_new(client_.get())};
    AdminOptions const options = adminOptions(client_.get(), RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_DescribeConfigs(client_.get(), handles.data(), handles.size(), options.get(),
                             queue.get());
    Event const event = await(queue, "to read the settings of topics");
    std::size_t count = 0;
    auto const* const results = rd_kafka_DescribeConfigs_result_resources(
        rd_kafka_event_DescribeConfigs_result(event.get()), &count);
    bool const areKnown = std::none_of(results, results + count, [](auto const* result) {
        return rd_kafka_ConfigResource_error(result) == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    });
    if (!areKnown && !mustKnow) return false;
    for (std::size_t i = 0; i < count; ++i) {
        std::string const topic = rd_kafka_ConfigResource_name(results[i]);
        if (rd_kafka_ConfigResource_error(results[i]) != RD_KAFKA_RESP_ERR_NO_ERROR)
            throw std::runtime_error{"the settings of topic " + topic + ": " +
                                     rd_kafka_ConfigResource_error_string(results[i])};
        std::size_t entries = 0;
        auto const* const configs = rd_kafka_ConfigResource_configs(results[i], &entries);
        for (std::size_t j = 0; j < entries; ++j)
            if (char const* const value = rd_kafka_ConfigEntry_value(configs[j]))
                checkSetting(topic, rd_kafka_ConfigEntry_name(configs[j]), value);
    }
    return true;
}

void Topics::checkSetting(std::string const& topic, std::string const& name,
                          std::string const& value) {
    auto const number = [&value] { return std::stoll(value); };
    auto const warn = [&](char const* better) {
        spdlog::warn("topic {}: {} is {}: {}", topic, name, value, better);
    };
    if (name == "min.insync.replicas" && number() < 2 && replicasOf(topic) >= kReplicas)
        warn("a broker may confirm alone, and what it has confirmed is lost with it; 2 is better");
    if (name == "unclean.leader.election.enable" && value == "true")
        warn("a replica that was behind may lead, and what it lacks is lost; false is better");
    if (topic == options_.commands) {
        if (name == "cleanup.policy" && value.find("compact") != std::string::npos)
            refuse(topic, name, value,
                   "it must be delete, or commands are lost before they are read");
        if (name == "retention.ms" && number() >= 0 && number() < kDay)
            warn("what workers have not read by then is lost; a day or more is better");
        if (name == "retention.bytes" && number() >= 0)
            warn("what workers have not read by then is lost; -1 is better");
        return;
    }
    bool const isOutput = topic == options_.deadLetters || topic == options_.replies;
    if (isOutput && name == "cleanup.policy" && value.find("compact") != std::string::npos)
        refuse(topic, name, value,
               "it must be delete, or a record without a key is refused, and others are lost");
    if (topic != options_.state) return;
    if (name == "cleanup.policy" && value != "compact")
        refuse(topic, name, value, "it must be compact, or timers are lost, or none is forgotten");
    if (name == "delete.retention.ms" && number() < kHour)
        refuse(topic, name, value,
               "it must be an hour (3600000) or more, or a worker that reads the state may miss "
               "that a timer was delivered");
    if (name == "segment.ms" && number() > kDay)
        warn("the active segment is not compacted: with a day or less, a restart reads less");
    if (name == "segment.bytes" && number() > (std::int64_t{1} << 30))
        warn("the active segment is not compacted: with 1 GB or less, a restart reads less");
    if (name == "min.compaction.lag.ms" && number() > kDay)
        warn("until then nothing is compacted, and a restart reads all of it");
}

std::int32_t Topics::replicasOf(std::string const& topic) {
    std::lock_guard const lock{mutex_};
    auto const found = replicas_.find(topic);
    return found == replicas_.end() ? 0 : found->second;
}

std::int32_t Topics::partitionsOf(std::string const& topic) {
    std::lock_guard const lock{mutex_};
    refresh();
    auto const found = partitions_.find(topic);
    return found == partitions_.end() ? 0 : found->second;
}

std::string Topics::refusalOfTopic(std::string_view topic, Clock::time_point asked,
                                   Clock::duration fresh) {
    std::string const name{topic};
    for (std::string const& own :
         {options_.commands, options_.state, options_.deadLetters, options_.replies})
        if (name == own)
            return "timingwheel-to is " + name + ": that is a topic of the timers' own";
    Lock lock{mutex_};
    auto const isKnown = [&] { return partitions_.contains(name); };
    if (isKnown()) {
        auto const now = Clock::now();
        if (now - refreshed_ <= std::max<Clock::duration>(fresh, kRefreshPause)) return {};
        try {
            refresh();
        } catch (ClientError const& error) {
            spdlog::warn("topic {} is assumed to exist: {}", name, error.what());
            refreshed_ = now;  // or each command would wait for brokers that are away
        }
    }
    if (lookTwice(lock, asked, name, isKnown)) return {};
    return "timingwheel-to is " + name + ": there is no such topic";
}

std::int32_t Topics::partitionsOfCommands(Clock::time_point asked, std::int32_t known) {
    Lock lock{mutex_};
    auto const number = [this] {
        auto const found = partitions_.find(options_.commands);
        return found == partitions_.end() ? 0 : found->second;
    };
    lookTwice(lock, asked, options_.commands, [&] { return number() != known; });
    return number();
}

/// Returns early if it is found. The mutex is released while it waits. What was missing less than a
/// second ago is not waited for again.
template <class IsFound>
bool Topics::lookTwice(Lock& lock, Clock::time_point asked, std::string const& name,
                       IsFound const& isFound) {
    if (isFound()) return true;
    look(lock, asked);
    if (isFound()) return true;
    auto const found = missing_.find(name);
    if (found == missing_.end() || found->second < Clock::now() - kRefreshPause)
        look(lock, asked + kUntilMostKnow);
    if (isFound()) return true;
    if (missing_.size() >= kMaxMissing) missing_.clear();
    missing_[name] = Clock::now();
    return false;
}

/// Makes sure that the last look began after this time.
void Topics::look(Lock& lock, Clock::time_point after) {
    while (refreshed_ <= after) {
        auto const next = std::max(after, refreshed_ + kBetweenLooks);
        if (Clock::now() > next) return refresh();
        lock.unlock();
        std::this_thread::sleep_until(next);
        lock.lock();
    }
}

void Topics::watch() {
    watcher_ = std::thread{[this] {
        Lock lock{watching_};
        do {
            lock.unlock();
            count();
            lock.lock();
        } while (!stops_.wait_for(lock, kRefreshPause, [this] { return isStopping_; }));
    }};
}

Topics::~Topics() {
    if (!watcher_.joinable()) return;
    {
        std::lock_guard const lock{watching_};
        isStopping_ = true;
    }
    stops_.notify_one();
    watcher_.join();
}

/// Asks for this topic alone: a cluster may have many thousands.
void Topics::count() {
    auto const began = Clock::now();
    Topic const topic{rd_kafka_topic_new(client_.get(), options_.commands.c_str(), nullptr)};
    struct rd_kafka_metadata const* read = nullptr;
    // What fails is tried again.
    if (!topic || rd_kafka_metadata(client_.get(), 0, topic.get(), &read, kCountTimeout) !=
                      RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    Owned<struct rd_kafka_metadata const, rd_kafka_metadata_destroy> const metadata{read};
    if (metadata->topic_cnt != 1 || metadata->topics[0].err != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    counted_ = metadata->topics[0].partition_cnt;
    answered_ = began;
}

std::int32_t Topics::partitionsOfGroup(std::int32_t now) {
    PartitionList const all{rd_kafka_topic_partition_list_new(now)};
    rd_kafka_topic_partition_list_add_range(all.get(), options_.commands.c_str(), 0, now - 1);
    kafka::check(rd_kafka_committed(client_.get(), all.get(), kRequestTimeout),
                 "to ask for the group's offsets");
    for (int i = 0; i < all->cnt; ++i)
        if (std::int32_t const then = noted(all->elems[i]); then != 0 && then != now) return then;
    return 0;
}

/// REQUIRES: the mutex. Those who have waited for it share a look that failed: while brokers are
/// away, each of them would wait as long again, one after the other, also when the worker stops.
void Topics::refresh() {
    auto const began = Clock::now();
    struct rd_kafka_metadata const* read = nullptr;
    if (began >= failed_ + kRefreshPause) {
        failure_ = rd_kafka_metadata(client_.get(), 1, nullptr, &read, kRequestTimeout);
        if (failure_ != RD_KAFKA_RESP_ERR_NO_ERROR) failed_ = Clock::now();
    }
    kafka::check(failure_, "to ask " + options_.brokers + " for the topics");
    Owned<struct rd_kafka_metadata const, rd_kafka_metadata_destroy> const metadata{read};
    partitions_.clear();
    replicas_.clear();
    for (int i = 0; i < metadata->topic_cnt; ++i) {
        auto const& topic = metadata->topics[i];
        if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
        partitions_[topic.topic] = topic.partition_cnt;
        replicas_[topic.topic] = topic.partition_cnt > 0 ? topic.partitions[0].replica_cnt : 0;
    }
    refreshed_ = began;
}

}  // namespace timingwheel::inline v1::kafka
