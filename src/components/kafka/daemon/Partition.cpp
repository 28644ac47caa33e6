#include "components/kafka/daemon/Partition.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/StateReader.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

namespace {

using std::chrono::milliseconds;

constexpr int kOffsetTimeout = 10'000;
// How often the thread looks at the clock, which somebody may set.
constexpr milliseconds kGlance{1'000};
constexpr milliseconds kPauseAfterFailure{1'000};
constexpr milliseconds kLongestPause{60'000};
// The most bytes that one transaction delivers. A larger timer comes alone.
constexpr std::size_t kMaxBytesDue = 8'000'000;
// In place of an offset, if there is none.
constexpr std::int64_t kNoOffset = -1;

std::int64_t nowInMilliseconds() {
    return std::chrono::floor<milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// Kafka cannot take partitions away.
constexpr char const* kWayBack =
    "Copy what is pending into new topics: docs/beyond.md, \"More partitions\"";

double inSeconds(std::chrono::steady_clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

/// A view of what a consumer has read.
Record recordOf(rd_kafka_message_t const& message) {
    Record record;
    auto const view = [](void const* bytes, std::size_t size) -> std::optional<std::string_view> {
        if (bytes == nullptr) return std::nullopt;
        return std::string_view{static_cast<char const*>(bytes), size};
    };
    record.key = view(message.key, message.key_len);
    record.value = view(message.payload, message.len);
    record.offset = message.offset;
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
    char const* name = nullptr;
    void const* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i)
        record.headers.push_back({name, view(value, size)});
    return record;
}

/// As Java's clients do it.
std::int32_t partitionOf(std::string_view key, std::int32_t partitions) {
    return rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(), partitions, nullptr,
                                            nullptr);
}

/// True if the group gave the partition to another worker. A generation that has passed is no such
/// sign: the group has a new one each time that a member comes or goes.
bool isFenced(rd_kafka_resp_err_t code) {
    return code == RD_KAFKA_RESP_ERR__FENCED || code == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
           code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH ||
           code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED;
}

/// True if it would pass once brokers answer.
bool isTransient(ClientError const& error) {
    return error.isRetriable() || error.code() == RD_KAFKA_RESP_ERR__QUEUE_FULL;
}

/// What is pending takes more memory than there is.
class DoesNotFit : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace

Partition::Partition(Shared& shared, std::int32_t number)
    : shared_{shared},
      number_{number},
      inbox_{2 * shared.options.batch},
      metrics_{std::make_shared<Metrics::OfPartition>(shared.metrics, number)} {
    thread_ = std::thread{[this] { run(); }};
}

Partition::~Partition() {
    stop();
    thread_.join();
    shared_.memory -= memory_;
    shared_.metrics.setMemory(shared_.memory);
}

void Partition::stop() noexcept {
    isStopping_ = true;
    inbox_.wake();
}

void Partition::run() {
    std::minstd_rand random{static_cast<unsigned>(number_) + 1};
    milliseconds wait = kPauseAfterFailure;
    while (!isStopping_) {
        milliseconds length = kPauseAfterFailure;
        bool isTakenOver = false;
        try {
            takeOver();
            isTakenOver = true;
            wait = kPauseAfterFailure;
            while (!isStopping_) work();
            return;
        } catch (TakenAway const& error) {
            report(spdlog::level::info, error);
        } catch (ClientError const& error) {
            report(isFenced(error.code()) ? spdlog::level::info : spdlog::level::err, error);
        } catch (DoesNotFit const& error) {
            report(spdlog::level::err, error);
            // Two that do not fit together must not keep each other out: one waits for longer.
            wait = std::min(2 * wait, kLongestPause);
            length =
                milliseconds{std::uniform_int_distribution{wait.count() / 2, wait.count()}(random)};
        } catch (std::exception const& error) {
            report(spdlog::level::err, error);
        }
        if (!isTakenOver && !isStopping_) shared_.metrics.failedToTakeOver();
        inbox_.close();
        forget();
        pause(length);
    }
}

/// Drops what memory holds: the log has it, and others may need the room. The metrics still show
/// what is pending, and how late it is.
void Partition::forget() {
    metrics_->worked = Metrics::OfPartition::kNever;
    if (timers_) showEarliest(timers_->earliest());
    outputs_.clear();
    tally_ = {};
    intake_.reset();
    timers_.reset();
    account();
}

void Partition::report(int level, std::exception const& error) const {
    // A worker that stops waits for no broker that is away. What is not committed begins anew
    // elsewhere.
    if (isStopping_) level = spdlog::level::debug;
    spdlog::log(static_cast<spdlog::level::level_enum>(level), "partition {}: begins anew: {}",
                number_, error.what());
}

void Partition::pause(milliseconds length) {
    auto const until = Steady::now() + length;
    while (!isStopping_ && Steady::now() < until) std::this_thread::sleep_for(milliseconds{20});
}

// The order of the steps is what the model in tests/protocol found to be necessary: decision 0011.
void Partition::takeOver() {
    auto const began = Steady::now();
    forget();
    producer_.reset();
    partitions_ = shared_.topics.partitionsOf(shared_.options.state);
    if (partitions_ == 0)
        throw std::runtime_error{"topic " + shared_.options.state + " is not there any more"};
    requireUnchanged(shared_.topics.partitionsOf(shared_.options.commands));
    requireUnchanged(shared_.topics.partitionsOfGroup(partitions_));

    // Ends what a former owner has left open, and fences it.
    producer_ = std::make_unique<Producer>(shared_.options, number_, isStopping_);
    Range const commands = rangeOfCommands();
    std::int64_t const ofGroup = offsetOfGroup();
    metrics_->lag = commands.high - std::clamp(ofGroup, commands.low, commands.high);
    timers_.emplace(nowInMilliseconds());
    // The group's is the later one only if somebody has set it by hand.
    next_ = firstUnread(std::max(ofGroup, readState()), commands);
    intake_.emplace(
        *timers_,
        Intake::Rules{
            .source = shared_.options.commands + "/" + std::to_string(number_),
            .maxPast = shared_.options.maxPastDays * kDay,
            .maxDelay = shared_.options.maxDelayDays * kDay,
            .hasReplies = !shared_.options.replies.empty(),
            .isOurs = [this](std::string_view key) { return isOurs(key) || !isMisplaced(); },
            .refusalOf = [this](std::int64_t offset) -> std::string {
                auto const found = refused_.find(offset);
                return found == refused_.end() ? std::string{} : found->second;
            },
            .refusalOfTopic =
                [this](std::string_view topic) {
                    return shared_.topics.refusalOfTopic(topic, read_);
                }});
    if (isStopping_) return;
    inbox_.openAt(next_);
    auto const took = Steady::now() - began;
    shared_.metrics.tookOver(took);
    spdlog::info("partition {}: taken over in {:.1f} s, {} timers pending, commands from {}",
                 number_, inSeconds(took), timers_->size(), next_);
}

bool Partition::isOurs(std::string_view key) const noexcept {
    return partitionOf(key, partitions_) == number_;
}

/// A timer's partition depends on the number of partitions. If that is another than before, cancels
/// go where their timers are not: so nothing is taken in or delivered. 0 is an unknown number.
void Partition::requireUnchanged(std::int32_t partitions) const {
    if (partitions == partitions_ || partitions == 0) return;
    throw std::runtime_error{
        "the number of partitions was changed: " + std::to_string(partitions_) + " and " +
        std::to_string(partitions) + " of " + shared_.options.commands + " or " +
        shared_.options.state + ". Nothing is taken in or delivered. " + kWayBack};
}

/// What seems to be in the wrong partition is in the right one, if its writer knows of more
/// partitions.
bool Partition::isMisplaced() {
    requireUnchanged(shared_.topics.partitionsOfCommands(read_, partitions_));
    return true;
}

Partition::Range Partition::rangeOfCommands() const {
    Range range{};
    check(rd_kafka_query_watermark_offsets(shared_.consumer, shared_.options.commands.c_str(),
                                           number_, &range.low, &range.high, kOffsetTimeout),
          "to ask where " + shared_.options.commands + " begins");
    return range;
}

/// What the group has committed, once no transaction is open that would change it. A broker that
/// was replaced a moment ago may answer with an earlier one, or with none: the state knows better.
std::int64_t Partition::offsetOfGroup() const {
    PartitionList const list = partitionList(shared_.options.commands, number_);
    check(rd_kafka_committed(shared_.consumer, list.get(), kOffsetTimeout),
          "to ask for the offset");
    check(list->elems[0].err, "to ask for the offset");
    return std::max(list->elems[0].offset, kNoOffset);
}

std::int64_t Partition::firstUnread(std::int64_t offset, Range commands) const {
    if (offset > commands.high)
        throw std::runtime_error{"the offset " + std::to_string(offset) + " is beyond " +
                                 shared_.options.commands + ", which ends at " +
                                 std::to_string(commands.high) + ": was the topic made anew?"};
    if (offset != kNoOffset && offset < commands.low) lostToRetention(offset, commands.low);
    return std::max(offset, commands.low);
}

/// Reads what is committed, up to a mark that is written now. What is open at that mark is waited
/// for. Returns the offset behind the commands that the state has taken in.
std::int64_t Partition::readState() {
    std::int64_t const end = producer_->endOfState();
    StateReader reader{shared_.options, number_};
    std::int64_t read = 0;
    std::int64_t offset = kNoOffset;
    std::size_t malformed = 0;
    while (read <= end && !isStopping_) {
        Message const message = reader.next(milliseconds{100});
        if (!message) continue;
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            read = message->offset;
            continue;
        }
        read = message->offset + 1;
        Record const record = recordOf(*message);
        std::string problem;
        if (record.key == kPositionKey) {
            if (auto const position = readPosition(record))
                offset = *position;
            else
                problem = "its value is no offset";
        } else if (!record.value) {
            if (record.key)
                if (PendingTimer* const timer = timers_->find(*record.key))
                    (void)timers_->remove(*timer);
        } else {
            if (record.key && !isOurs(*record.key))
                throw std::runtime_error{
                    "the number of partitions was changed: a timer is in partition " +
                    std::to_string(number_) + " of " + shared_.options.state + " and belongs to " +
                    std::to_string(partitionOf(*record.key, partitions_)) + ". " + kWayBack};
            auto const state = kafka::readState(record);
            if (auto const* const command = std::get_if<Command>(&state))
                timers_->schedule(*command);
            else
                problem = std::get<Refusal>(state).reason;
        }
        if (!problem.empty() && malformed++ == 0)
            spdlog::error("partition {}: {}/{}/{}: foreign record, ignored: {}", number_,
                          shared_.options.state, number_, record.offset, problem);
        if (read % 4'096 == 0) account();
        if (shared_.isFull())
            throw DoesNotFit{"what is pending does not fit into --memory-mb " +
                             std::to_string(shared_.options.memory) +
                             ": it waits, and is not lost. Give more memory, or more workers"};
    }
    account();
    return offset;
}

void Partition::work() {
    milliseconds patience = kGlance;
    if (auto const next = timers_->nextExpiration())
        patience = std::clamp(milliseconds{*next - nowInMilliseconds()}, milliseconds{0}, patience);

    requireUnchanged(shared_.topics.partitionsOfCommands());
    // If memory is full, a schedule waits, and all behind it. Cancels and what is due make room.
    bool const isFull = shared_.isFull();
    if (isFull) pause(std::min(patience, milliseconds{100}));
    auto const messages = inbox_.take(
        shared_.options.batch, isFull ? milliseconds{0} : patience,
        [isFull](rd_kafka_message_t const& message) {
            return isFull && lastHeader(recordOf(message), header::kCommand) == header::kSchedule;
        });
    read_ = Steady::now();
    Gaps gaps;
    bool hasNews = false;
    for (Message const& message : messages) {
        if (message->offset > next_) gaps.emplace_back(next_, message->offset);
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            next_ = std::max(next_, message->offset);
            continue;
        }
        hasNews = true;
        if (message->offset < next_)
            throw std::runtime_error{"the command at offset " + std::to_string(message->offset) +
                                     " was read again"};
        intake_->take(recordOf(*message), nowInMilliseconds(), outputs_, tally_);
        next_ = message->offset + 1;
    }

    if (!gaps.empty() && countLost(gaps)) hasNews = true;

    std::int64_t const now = nowInMilliseconds();
    auto due = timers_->takeDue(now, shared_.options.batch, kMaxBytesDue);
    for (PendingTimer::Owner& timer : due) {
        ++tally_.delivered;
        outputs_.beginStep(next_);
        outputs_.delivery(std::move(timer));
    }
    showEarliest(timers_->nextExpiration());
    if (hasNews || !outputs_.empty()) commit();
    account();
    showLag();
    metrics_->worked = std::max(metrics_->worked.load(), shared_.topics.answered());
}

/// Offsets without a command are of transactions, or of commands that retention has removed. True
/// if any of them are. Brokers say with all that they send where the log begins.
bool Partition::countLost(Gaps const& gaps) {
    std::int64_t low = -1;
    std::int64_t high = -1;
    char const* const commands = shared_.options.commands.c_str();
    rd_kafka_get_watermark_offsets(shared_.consumer, commands, number_, &low, &high);
    if (low < 0)  // unless they said last that they cannot
        check(rd_kafka_query_watermark_offsets(shared_.consumer, commands, number_, &low, &high,
                                               kOffsetTimeout),
              "to ask where " + shared_.options.commands + " begins");
    bool areLost = false;
    for (auto const& [from, to] : gaps) {
        if (from >= low) continue;
        lostToRetention(from, std::min(to, low));
        areLost = true;
    }
    return areLost;
}

void Partition::lostToRetention(std::int64_t from, std::int64_t to) const {
    spdlog::error("partition {}: commands {} to {} are lost: retention removed them unread",
                  number_, from, to - 1);
    shared_.metrics.lostToRetention(to - from);
}

/// Writes what has come together. Throws if the partition has to begin anew.
void Partition::commit() {
    auto const began = Steady::now();
    Chosen all(outputs_.all().size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    write(all, next_);
    auto const now = nowInMilliseconds();
    for (Output const& output : outputs_.all())
        if (output.kind == Output::Kind::delivery)
            shared_.metrics.delivered(milliseconds{std::max<std::int64_t>(now - output.at, 0)});
    shared_.metrics.committed(Steady::now() - began);
    shared_.metrics.add(tally_);
    tally_ = {};
    outputs_.clear();
    refused_.erase(refused_.begin(), refused_.lower_bound(next_));
}

/// Writes these outputs: in one transaction, unless a broker refuses it. Then in several, in their
/// order. Each of them is right by itself: this may end anywhere.
void Partition::write(Chosen const& chosen, std::int64_t next) {
    switch (tryToCommit(chosen, next)) {
        case Ending::committed:
            return;
        case Ending::isClosed:
            return writeEachTargetAlone(chosen, next);
        case Ending::isMixed:
            return writeInHalves(chosen, next);
    }
}

/// Writes these outputs in one transaction, until it is committed, or must be divided.
Partition::Ending Partition::tryToCommit(Chosen const& chosen, std::int64_t next) {
    milliseconds wait{50};
    int failed = 0;
    while (true) {
        if (!producer_) renew();
        try {
            producer_->begin();
            for (std::size_t const i : chosen)
                if (!producer_->write(outputs_.all()[i], *timers_, i)) break;
            producer_->commit(shared_.consumer, next, partitions_);
            metrics_->worked = Steady::now();
            return Ending::committed;
        } catch (ClientError const& error) {
            if (error.isFatal() || isFenced(error.code())) throw;
            // Brokers are away, and have been waited for. The next owner ends the transaction.
            if (isStopping_ && isTransient(error)) throw;
            auto const failures = abort();
            bool isMixed = false;
            for (Producer::Failure const& failure : failures)
                if (failure.isCertain || isOneStep(chosen))
                    giveUp(failure);
                else
                    isMixed = true;
            if (isMixed) return Ending::isMixed;
            if (!failures.empty()) continue;
            if (error.code() == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
                return Ending::isClosed;
            if (++failed > 1 && giveUpWhatIsGone(chosen)) continue;
            spdlog::warn("partition {}: a transaction is made again: {}", number_, error.what());
            pause(wait);
            wait = std::min(2 * wait, kPauseAfterFailure);
        }
    }
}

/// Aborts, and ends the producer: the next has a new epoch. librdkafka would give the sequence
/// numbers of what was purged to the next transaction. If a broker has written such a batch and has
/// not answered, it takes the new one for the old one: it says yes, and writes nothing.
std::vector<Producer::Failure> Partition::abort() {
    producer_->abort();
    shared_.metrics.aborted();
    auto failures = producer_->failures();
    producer_.reset();
    return failures;
}

/// This fences a new owner, if there is one by now. The offset keeps out what is in memory here.
void Partition::renew() {
    if (isStopping_) throw std::runtime_error{"the worker stops after an abort"};
    producer_ = std::make_unique<Producer>(shared_.options, number_, isStopping_);
}

bool Partition::isOneStep(Chosen const& chosen) {
    // They are in the order of their steps.
    return outputs_.all()[chosen.front()].step == outputs_.all()[chosen.back()].step;
}

/// Divides until what is refused stands alone, or what is too large together is in two batches.
void Partition::writeInHalves(Chosen const& chosen, std::int64_t next) {
    auto const stepOf = [this](std::size_t i) { return outputs_.all()[i].step; };
    // REQUIRES more than one step. The middle moves to the beginning of a step, up or down.
    auto middle = chosen.begin() + static_cast<std::ptrdiff_t>(chosen.size() / 2);
    while (middle != chosen.end() && stepOf(*middle) == stepOf(*(middle - 1))) ++middle;
    if (middle == chosen.end()) do
            --middle;
        while (stepOf(*middle) == stepOf(*(middle - 1)));
    Chosen const first{chosen.begin(), middle};
    write(first, outputs_.all()[first.back()].next);
    write({middle, chosen.end()}, next);
}

/// For a topic that may not be written to: what is due there goes to the dead letters, and the rest
/// where it should.
void Partition::writeEachTargetAlone(Chosen const& all, std::int64_t next) {
    Chosen rest;
    std::map<std::uint32_t, Chosen> deliveries;
    for (auto i = all.begin(); i != all.end(); ++i) {
        Output const& output = outputs_.all()[*i];
        if (output.kind != Output::Kind::delivery) {
            rest.push_back(*i);
            continue;
        }
        Chosen& ofTarget = deliveries[output.timer->target()];
        ofTarget.push_back(*i);
        ofTarget.push_back(*++i);  // its tombstone
    }
    constexpr auto kMayNotWrite = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    // A topic that is still closed here is one of ours.
    auto const require = [&](Chosen const& chosen) {
        if (chosen.empty()) return;
        Ending const ending = tryToCommit(chosen, next);
        if (ending == Ending::isMixed) return writeInHalves(chosen, next);
        if (ending == Ending::isClosed)
            throw ClientError{
                "workers must have the right to write to the state, the dead letters "
                "and the replies",
                kMayNotWrite};
    };
    require(rest);
    for (auto const& [target, chosen] : deliveries) {
        switch (tryToCommit(chosen, next)) {
            case Ending::committed:
                break;
            case Ending::isMixed:
                writeInHalves(chosen, next);
                break;
            case Ending::isClosed:
                for (std::size_t const i : chosen)
                    if (outputs_.all()[i].kind == Output::Kind::delivery) giveUp({i, kMayNotWrite});
                require(chosen);
        }
    }
}

/// If somebody removes a topic that a producer knows, the producer reports only that it looks for
/// the leader.
bool Partition::giveUpWhatIsGone(Chosen const& chosen) {
    auto const asked = Steady::now();
    std::map<std::uint32_t, bool> isGone;
    bool any = false;
    for (std::size_t const i : chosen) {
        Output const& output = outputs_.all()[i];
        if (output.kind != Output::Kind::delivery) continue;
        auto const [found, isNew] = isGone.try_emplace(output.timer->target(), false);
        if (isNew)
            found->second =
                !shared_.topics.refusalOfTopic(timers_->topicOf(*output.timer), asked, {}).empty();
        if (!found->second) continue;
        giveUp({i, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART});
        any = true;
    }
    return any;
}

/// What cannot be written does not hold up the rest of its transaction.
void Partition::giveUp(Producer::Failure const& failure) {
    std::string const reason = rd_kafka_err2str(failure.error);
    auto const fail = [&reason] {
        throw std::runtime_error{"the state and the dead letters must be written, and cannot be: " +
                                 reason};
    };
    if (failure.output == Producer::kPosition) fail();
    Output& output = outputs_.all()[failure.output];
    switch (output.kind) {
        case Output::Kind::delivery:
            spdlog::error("partition {}: a timer could not be delivered to {}: {}", number_,
                          timers_->topicOf(*output.timer), reason);
            output.turnInto(Output::Kind::deadLetter,
                            std::make_unique<OwnRecord>(letterOf(output, reason)));
            --tally_.delivered;
            ++tally_.failed;
            return;
        case Output::Kind::state:
            if (!isRecordFault(failure.error)) break;
            // Its reply and later commands are of a timer that will not be. So they are taken in
            // anew, without it.
            refused_[output.next - 1] = "the state does not take the timer: " + reason;
            throw std::runtime_error{"the command at offset " + std::to_string(output.next - 1) +
                                     " is refused: the state does not take the timer: " + reason};
        case Output::Kind::deadLetter:
            if (!isTooLarge(failure.error)) break;
            if (output.record->value) {  // goes without it
                output.record->value.reset();
                return;
            }
            [[fallthrough]];
        case Output::Kind::reply:
            spdlog::error("partition {}: given up, and not written: {}", number_, reason);
            output.turnInto(Output::Kind::nothing);
            return;
        case Output::Kind::tombstone:
            break;
        case Output::Kind::nothing:
            return;
    }
    fail();
}

OwnRecord Partition::letterOf(Output const& output, std::string const& reason) const {
    PendingTimer const& timer = *output.timer;
    OwnRecord record;
    record.key.emplace(timer.key().value_or(timer.id()));
    if (timer.value()) record.value.emplace(*timer.value());
    record.headers.emplace_back(std::string{header::kId}, std::string{timer.id()});
    record.headers.emplace_back(std::string{header::kAt}, std::to_string(output.at));
    record.headers.emplace_back(std::string{header::kTo}, timers_->topicOf(timer));
    for (auto const& [name, value] : timer.headers()) {
        auto& header = record.headers.emplace_back(std::string{name}, std::nullopt);
        if (value) header.second.emplace(*value);
    }
    std::string const source = shared_.options.state + "/" + std::to_string(number_);
    return deadLetter(std::move(record), source, reason);
}

void Partition::account() {
    std::size_t const bytes = timers_ ? timers_->bytes() : 0;
    shared_.memory += bytes - memory_;
    memory_ = bytes;
    shared_.metrics.setMemory(shared_.memory);
    if (!timers_) return;
    std::size_t const pending = timers_->size();
    metrics_->pending = intake_ ? pending : std::max(pending, metrics_->pending.load());
    showEarliest(timers_->nextExpiration());
}

/// The earliest of what is being delivered and of the rest, which is not due before `next`. An
/// earlier figure stays until a take-over knows all.
void Partition::showEarliest(std::optional<std::int64_t> next) {
    std::int64_t earliest = next.value_or(Metrics::OfPartition::kNone);
    for (Output const& output : outputs_.all())
        if (output.kind == Output::Kind::delivery) earliest = std::min(earliest, output.at);
    metrics_->earliest = intake_ ? earliest : std::min(earliest, metrics_->earliest.load());
}

/// The lag up to the end of the log, committed or not: a transaction that stays open counts.
void Partition::showLag() {
    std::int64_t low = -1;
    std::int64_t high = -1;
    rd_kafka_get_watermark_offsets(shared_.consumer, shared_.options.commands.c_str(), number_,
                                   &low, &high);
    if (high >= 0) metrics_->lag = std::max<std::int64_t>(high - next_, 0);
}

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
