#include "components/kafka/daemon/Producer.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Log.h"
#include "components/kafka/daemon/Note.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

namespace timingwheel::inline v1::kafka {

namespace {

using Headers = Owned<rd_kafka_headers_t, rd_kafka_headers_destroy>;
using std::chrono::steady_clock;

// How long a call of librdkafka waits before it checks whether the program stops.
constexpr int kCallTimeout = 500;
constexpr int kFirstInitTimeout = 50;
constexpr std::chrono::seconds kPatienceOfAStop{5};
constexpr std::chrono::milliseconds kPollPause{10};
// Among the numbers of outputs.
constexpr std::size_t kMark = Producer::kPosition - 1;

/// Ends a while after the program stops.
class Patience {
public:
    explicit Patience(std::atomic<bool> const& isStopping) : isStopping_{isStopping} {}
    bool isOver() {
        if (!isStopping_) return false;
        auto const now = steady_clock::now();
        if (until_ == kNever) until_ = now + kPatienceOfAStop;
        return now >= until_;
    }

private:
    std::atomic<bool> const& isStopping_;
    static constexpr auto kNever = steady_clock::time_point::max();
    steady_clock::time_point until_ = kNever;
};

Settings settingsOf(Options const& options, std::int32_t partition) {
    Settings settings = options.librdkafka;
    settings["bootstrap.servers"] = options.brokers;
    settings["transactional.id"] = options.transactionalId(partition);
    settings["transaction.timeout.ms"] = std::to_string(options.transactionTimeout.count());
    // Not longer than the transaction, or librdkafka refuses.
    settings["message.timeout.ms"] = std::to_string(options.transactionTimeout.count());
    settings["partitioner"] = "murmur2_random";
    settings.emplace("linger.ms", "2");
    // A broker that still writes the ends of the last transaction refuses to begin the next.
    settings.emplace("retry.backoff.ms", "10");
    settings.emplace("queue.buffering.max.messages", "100000");
    settings.emplace("queue.buffering.max.kbytes", "32768");
    // Brokers decide what is too large. What is larger than the queue would wait for ever.
    settings.emplace("message.max.bytes", "30000000");
    settings.emplace("topic.metadata.propagation.max.ms", "2000");
    // How long a topic that was removed is looked for.
    settings.emplace("topic.metadata.refresh.interval.ms", "10000");
    return settings;
}

void add(rd_kafka_headers_t* headers, std::string_view name,
         std::optional<std::string_view> value) {
    check(rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()),
                              value ? value->data() : nullptr,
                              value ? static_cast<ssize_t>(value->size()) : 0),
          "a header");
}

void add(rd_kafka_headers_t* headers, std::string_view name, std::int64_t number) {
    char digits[24];
    auto const end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
    add(headers, name, std::string_view{digits, static_cast<std::size_t>(end - digits)});
}

/// True if it would fail again.
bool isPermanent(rd_kafka_resp_err_t error) {
    switch (error) {
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
        case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
        case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            return true;
        default:
            return isRecordFault(error);
    }
}

/// Throws TakenAway if the consumer knows that its membership has ended.
void requireMembership(rd_kafka_t* consumer) {
    auto const isMember = [consumer] {
        char* const id = rd_kafka_memberid(consumer);
        bool const isOne = id != nullptr && *id != '\0';
        rd_kafka_mem_free(consumer, id);
        return isOne && rd_kafka_assignment_lost(consumer) == 0;
    };
    // The client's own thread answers, and then looks whether the session has run out. So the
    // second answer knows, also if this process was paused.
    if (!isMember() || !isMember()) throw TakenAway{};
}

}  // namespace

bool isTooLarge(rd_kafka_resp_err_t error) {
    return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
           error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
}

/// RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP is none: a record has the time at which it is written, so
/// the clock of this machine is wrong. The transaction is made again until that is right.
bool isRecordFault(rd_kafka_resp_err_t error) {
    return isTooLarge(error) || error == RD_KAFKA_RESP_ERR_INVALID_RECORD ||
           error == RD_KAFKA_RESP_ERR_POLICY_VIOLATION;
}

void Producer::checkSettings(Options const& options) {
    Configuration configuration{settingsOf(options, 0)};
    logTo(configuration);
    Client const client = configuration.makeClient(RD_KAFKA_PRODUCER);
}

Producer::Producer(Options const& options, std::int32_t partition, rd_kafka_t* consumer,
                   std::atomic<bool> const& isStopping)
    : options_{options}, partition_{partition}, consumer_{consumer}, isStopping_{isStopping} {
    Settings const settings = settingsOf(options, partition);
    auto const makeClient = [&] {
        Configuration configuration{settings};
        logTo(configuration);
        rd_kafka_conf_set_dr_msg_cb(configuration.get(), onDelivery);
        rd_kafka_conf_set_opaque(configuration.get(), this);
        client_ = configuration.makeClient(RD_KAFKA_PRODUCER);
    };
    makeClient();
    int timeout = kFirstInitTimeout;
    repeat("to begin as a producer of transactions", [&] {
        requireMembership(consumer_);  // also if brokers were waited for
        rd_kafka_error_t* const error = rd_kafka_init_transactions(client_.get(), timeout);
        // Brokers still end what a former owner has left open. This client would ask again after
        // half a second, a new one asks at once.
        if (error != nullptr && timeout < kCallTimeout &&
            rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS)
            makeClient();
        timeout = std::min(2 * timeout, kCallTimeout);
        return error;
    });
}

template <class Call>
void Producer::repeat(char const* what, Call&& call) {
    Patience patience{isStopping_};
    while (true) {
        rd_kafka_error_t* const error = call();
        if (error == nullptr) return;
        ClientError failed{what, error};
        if (!failed.isRetriable() || patience.isOver()) throw failed;
        std::this_thread::sleep_for(kPollPause);  // some calls do not wait themselves
    }
}

std::int64_t Producer::endOfState() {
    constexpr char const* kWhat = "to mark the end of the state";
    begin();
    mark_.reset();
    send(options_.state, partition_, kPositionKey, std::nullopt, nullptr, kMark);
    Patience patience{isStopping_};
    while (!mark_) {
        if (hasFailed_) throw ClientError{kWhat, RD_KAFKA_RESP_ERR__STATE};
        if (patience.isOver()) throw ClientError{kWhat, RD_KAFKA_RESP_ERR__TIMED_OUT};
        rd_kafka_poll(client_.get(), kCallTimeout);
    }
    check(mark_->error, kWhat);
    if (mark_->offset < 0) throw std::runtime_error{"brokers do not say where the state ends"};
    // It is answered: so this abort purges nothing, and the producer may go on.
    abort();
    return mark_->offset;
}

void Producer::begin() {
    failures_.clear();
    offsets_.clear();
    ofBatches_.clear();
    hasFailed_ = false;
    check(rd_kafka_begin_transaction(client_.get()), "to begin a transaction");
}

bool Producer::write(Output const& output, PendingTimers const& timers, std::size_t number) {
    switch (output.kind) {
        case Output::Kind::state:
        case Output::Kind::delivery:
        case Output::Kind::recurrence:
            sendTimer(output, timers, number);
            break;
        case Output::Kind::tombstone:
            send(options_.state, partition_, output.timer->id(), std::nullopt, nullptr, number);
            break;
        case Output::Kind::reply:
        case Output::Kind::deadLetter: {
            Headers headers{rd_kafka_headers_new(output.record->headers.size())};
            for (auto const& [name, value] : output.record->headers)
                add(headers.get(), name, value);
            send(output.kind == Output::Kind::reply ? options_.replies : options_.deadLetters,
                 RD_KAFKA_PARTITION_UA, output.record->key, output.record->value, headers.release(),
                 number);
            break;
        }
        case Output::Kind::nothing:
            break;
    }
    return !hasFailed_;
}

void Producer::sendTimer(Output const& output, PendingTimers const& timers, std::size_t number) {
    PendingTimer const& timer = *output.timer;
    bool const isDelivery = output.kind == Output::Kind::delivery;
    auto const own = timer.headers();
    auto const rule = isDelivery ? std::vector<Header>{} : timer.rule();
    Headers headers{rd_kafka_headers_new(own.size() + rule.size() + 4)};
    add(headers.get(), header::kAt, output.at);
    if (isDelivery) {
        add(headers.get(), header::kId, timer.id());
    } else {
        add(headers.get(), header::kTo, timers.topicOf(timer));
        if (timer.key()) add(headers.get(), header::kKey, timer.key());
        if (!timer.value()) add(headers.get(), header::kValue, header::kNone);
    }
    for (Header const& header : rule) add(headers.get(), header.name, header.value);
    for (Header const& header : own) add(headers.get(), header.name, header.value);
    if (isDelivery)
        send(timers.topicOf(timer), RD_KAFKA_PARTITION_UA, timer.key().value_or(timer.id()),
             timer.value(), headers.release(), number);
    else
        send(options_.state, partition_, timer.id(), timer.value().value_or(std::string_view{""}),
             headers.release(), number);
}

rd_kafka_topic_t* Producer::topic(std::string const& name) {
    auto found = topics_.find(name);
    if (found == topics_.end()) {
        Topic topic{rd_kafka_topic_new(client_.get(), name.c_str(), nullptr)};
        if (!topic) throw ClientError{"topic " + name, rd_kafka_last_error()};
        found = topics_.emplace(name, std::move(topic)).first;
    }
    return found->second.get();
}

/// Takes the headers.
void Producer::send(std::string const& name, std::int32_t partition,
                    std::optional<std::string_view> key, std::optional<std::string_view> value,
                    rd_kafka_headers_t* given, std::size_t number) {
    Headers headers{given};
    rd_kafka_vu_t fields[7];
    std::size_t count = 0;
    auto const field = [&](rd_kafka_vtype_t type) -> auto& {
        fields[count].vtype = type;
        return fields[count++].u;
    };
    field(RD_KAFKA_VTYPE_RKT).rkt = topic(name);
    field(RD_KAFKA_VTYPE_PARTITION).i32 = partition;
    field(RD_KAFKA_VTYPE_MSGFLAGS).i = RD_KAFKA_MSG_F_COPY;
    field(RD_KAFKA_VTYPE_OPAQUE).ptr = reinterpret_cast<void*>(number);
    if (key) field(RD_KAFKA_VTYPE_KEY).mem = {const_cast<char*>(key->data()), key->size()};
    if (value) field(RD_KAFKA_VTYPE_VALUE).mem = {const_cast<char*>(value->data()), value->size()};
    if (headers) field(RD_KAFKA_VTYPE_HEADERS).headers = headers.get();
    Patience patience{isStopping_};
    while (true) {
        rd_kafka_error_t* const error = rd_kafka_produceva(client_.get(), fields, count);
        if (error == nullptr) {
            [[maybe_unused]] rd_kafka_headers_t* const taken = headers.release();
            return;
        }
        ClientError failed{"to write to " + name, error};
        // librdkafka keeps the reason to itself until it is asked to commit.
        if (failed.code() == RD_KAFKA_RESP_ERR__STATE) {
            hasFailed_ = true;
            return;
        }
        if (failed.code() != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            if (isPermanent(failed.code())) failures_.push_back({number, failed.code()});
            throw failed;
        }
        if (patience.isOver()) throw failed;
        rd_kafka_poll(client_.get(), static_cast<int>(kPollPause.count()));
    }
}

void Producer::onDelivery(rd_kafka_t*, rd_kafka_message_t const* message, void* self) {
    auto& producer = *static_cast<Producer*>(self);
    auto const number = reinterpret_cast<std::size_t>(message->_private);
    if (number == kMark) {
        producer.mark_ = {message->err, message->offset};
        return;
    }
    bool const isOfState = message->rkt == producer.topic(producer.options_.state);
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR && isOfState && number != kPosition)
        producer.offsets_.emplace_back(number, message->offset);
    // If one fails, librdkafka has the others fail as well, by other errors.
    if (!isPermanent(message->err)) return;
    Failure const failure{number, message->err};
    if (isRecordFault(message->err))
        producer.ofBatches_.push_back({failure, message->rkt, message->partition});
    else
        producer.failures_.push_back(failure);
}

std::vector<Producer::Failure> Producer::failures() const {
    std::map<std::pair<rd_kafka_topic_t*, std::int32_t>, std::size_t> counts;
    for (Report const& report : ofBatches_) ++counts[{report.topic, report.partition}];
    std::vector<Failure> all = failures_;
    for (Report const& report : ofBatches_) {
        all.push_back(report.failure);
        all.back().isCertain = counts[{report.topic, report.partition}] == 1;
    }
    return all;
}

void Producer::commit(std::int64_t offset, std::int32_t partitions) {
    using Metadata =
        Owned<rd_kafka_consumer_group_metadata_t, rd_kafka_consumer_group_metadata_destroy>;
    // First the metadata, then the check whether the partition was lost. If it is lost later, these
    // are of a member that brokers do not know any more.
    Metadata const metadata{rd_kafka_consumer_group_metadata(consumer_)};
    if (!metadata || rd_kafka_assignment_lost(consumer_) != 0) throw TakenAway{};
    send(options_.state, partition_, kPositionKey, std::to_string(offset), nullptr, kPosition);
    // Always an offset, also when no command was read: without one, librdkafka would not ask the
    // group, and nobody would be fenced.
    PartitionList const offsets = partitionList(options_.commands, partition_, offset);
    note(offsets->elems[0], partitions);
    auto const sendOffset = [&] {
        repeat("to send the offset", [&] {
            return rd_kafka_send_offsets_to_transaction(client_.get(), offsets.get(),
                                                        metadata.get(), kCallTimeout);
        });
    };
    try {
        sendOffset();
    } catch (ClientError const& error) {
        // A record failed meanwhile. A second call says why.
        if (error.isFatal() || error.code() != RD_KAFKA_RESP_ERR__STATE) throw;
        sendOffset();
        hasFailed_ = true;
    }
    // A part of it must not be committed, whatever librdkafka says.
    if (hasFailed_)
        throw ClientError{"a transaction was written in part", RD_KAFKA_RESP_ERR__STATE};
    repeat("to commit",
           [this] { return rd_kafka_commit_transaction(client_.get(), kCallTimeout); });
}

void Producer::abort() {
    repeat("to abort", [this] { return rd_kafka_abort_transaction(client_.get(), kCallTimeout); });
}

}  // namespace timingwheel::inline v1::kafka
