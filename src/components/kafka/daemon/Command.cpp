#include "components/kafka/daemon/Command.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Recurrence.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <system_error>

namespace timingwheel::inline v1::kafka {

namespace {

/// Kafka's own topics, where a record of a stranger's breaks groups and transactions.
bool isOfKafka(std::string_view topic) {
    static constexpr std::string_view kTopics[] = {"__consumer_offsets", "__transaction_state",
                                                   "__share_group_state", "__cluster_metadata",
                                                   "__remote_log_metadata"};
    return std::find(std::begin(kTopics), std::end(kTopics), topic) != std::end(kTopics);
}

/// Fills in the time, or returns what is wrong with it.
std::optional<Refusal> readAt(Record const& record, CommandLimits limits, std::int64_t& at) {
    auto const written = lastHeader(record, header::kAt);
    if (!written) return Refusal{"timingwheel-at is missing: it says when, in ms since 1970"};
    auto const [end, error] =
        std::from_chars(written->data(), written->data() + written->size(), at);
    if (error != std::errc{} || end != written->data() + written->size() || at < 0)
        return Refusal{"timingwheel-at is " + quoted(*written) +
                       ": it must be a whole number of milliseconds since 1970"};
    if (at < limits.earliest)
        return Refusal{"timingwheel-at is " + std::to_string(at) + ": the earliest is " +
                       std::to_string(limits.earliest) +
                       " (--max-past-days); it is in milliseconds since 1970"};
    if (at > limits.latest)
        return Refusal{"timingwheel-at is " + std::to_string(at) + ": the latest is " +
                       std::to_string(limits.latest) + " (--max-delay-days)"};
    return std::nullopt;
}

/// Fills in when a timer that recurs is due first, or returns what is wrong with that or its rule.
/// A rule without a time is a mistake, unless timingwheel-at says when it is due first.
std::optional<Refusal> readRecurrence(Record const& record, CommandLimits limits,
                                      Command& command) {
    auto const read = Recurrence::read(command.rule, limits.latest - limits.now);
    if (auto const* const refusal = std::get_if<Refusal>(&read)) return *refusal;
    // Nothing may be left of the rule behind it: of a timer whose last delivery was pushed back.
    if (lastHeader(record, header::kAt)) return readAt(record, limits, command.at);
    auto const first = std::get<Recurrence>(read).next(limits.now, limits.now);
    // The header that is the rule itself comes first.
    std::string const rule = std::string{command.rule.front().name} + " is " +
                             quoted(command.rule.front().value.value_or(std::string_view{}));
    if (!first)
        return Refusal{rule + ": it does not come after " + std::to_string(limits.now) +
                       ", in milliseconds since 1970"};
    if (*first > limits.latest)
        return Refusal{rule + ": it comes first at " + std::to_string(*first) + ": the latest is " +
                       std::to_string(limits.latest) + " (--max-delay-days)"};
    command.at = *first;
    return std::nullopt;
}

/// When it is due, and again.
std::optional<Refusal> readTimes(Record const& record, CommandLimits limits, Command& command) {
    command.rule = Recurrence::headersOf(record);
    if (command.kind == Command::Kind::schedule && !command.rule.empty())
        return readRecurrence(record, limits, command);
    if (!command.rule.empty())
        return Refusal{std::string{command.rule.front().name} +
                       " is for schedule: a push-back moves the next delivery, a cancel ends all"};
    if (command.kind == Command::Kind::cancel) return std::nullopt;
    return readAt(record, limits, command.at);
}

/// What a schedule and a record of the state have.
std::optional<Refusal> readTimer(Record const& record, Command& command) {
    auto const to = lastHeader(record, header::kTo);
    if (!to) return Refusal{"timingwheel-to is missing: it names the topic to deliver to"};
    if (!isTopic(*to))
        return Refusal{"timingwheel-to is " + quoted(*to) + ": it must be " + kTopicBound};
    command.to = *to;
    command.key = lastHeader(record, header::kKey);
    command.value = record.value;
    for (Header const& header : record.headers)
        if (!header.name.starts_with(header::kPrefix)) command.headers.push_back(header);
    if (command.headers.size() > kMaxHeaders)
        return Refusal{"it has " + std::to_string(command.headers.size()) +
                       " headers of its own: the most is " + std::to_string(kMaxHeaders)};
    return std::nullopt;
}

std::optional<Refusal> readId(Record const& record, Command& command) {
    if (!record.key || record.key->empty())
        return Refusal{"the key is empty: it must be the timer's id"};
    if (record.key->size() > kMaxId)
        return Refusal{"the key has " + std::to_string(record.key->size()) +
                       " bytes: the most is " + std::to_string(kMaxId)};
    command.id = *record.key;
    return std::nullopt;
}

std::optional<Refusal> readKind(Record const& record, Command& command) {
    auto const name = lastHeader(record, header::kCommand);
    if (!name) return Refusal{"timingwheel-command is missing: schedule, push-back or cancel"};
    if (*name == header::kSchedule)
        command.kind = Command::Kind::schedule;
    else if (*name == header::kPushBack)
        command.kind = Command::Kind::pushBack;
    else if (*name == header::kCancel)
        command.kind = Command::Kind::cancel;
    else
        return Refusal{"timingwheel-command is " + quoted(*name) +
                       ": it must be schedule, push-back or cancel"};
    return std::nullopt;
}

/// A name that is mistyped would change what the command does, without a word.
std::optional<Refusal> checkNames(Record const& record) {
    using namespace header;
    constexpr std::string_view kKnown[] = {kCommand, kAt,       kTo,      kKey, kEvery,
                                           kCron,    kCalendar, kZone,    kGap, kOverlap,
                                           kMissed,  kReply,  // what was delivered, sent again:
                                           kId,      kReason,   kOutcome, kFrom};
    for (Header const& header : record.headers)
        if (header.name.starts_with(kPrefix) &&
            std::find(std::begin(kKnown), std::end(kKnown), header.name) == std::end(kKnown))
            return Refusal{quoted(header.name) + " is no header of a command"};
    return std::nullopt;
}

}  // namespace

std::variant<Command, Refusal> readCommand(Record const& record, CommandLimits limits) {
    Command command;
    if (auto refusal = readId(record, command)) return *refusal;
    if (auto refusal = readKind(record, command)) return *refusal;
    if (auto refusal = checkNames(record)) return *refusal;
    if (auto refusal = readTimes(record, limits, command)) return *refusal;
    if (command.kind == Command::Kind::schedule) {
        if (auto refusal = readTimer(record, command)) return *refusal;
        if (isOfKafka(command.to))
            return Refusal{"timingwheel-to is " + std::string{command.to} +
                           ": that is a topic of Kafka's own"};
    }
    return command;
}

std::variant<Command, Refusal> readState(Record const& record) {
    Command command;
    command.kind = Command::Kind::schedule;
    if (auto refusal = readId(record, command)) return *refusal;
    // No bound: it was accepted once.
    if (auto refusal =
            readAt(record, {.latest = std::numeric_limits<std::int64_t>::max()}, command.at))
        return *refusal;
    if (auto refusal = readTimer(record, command)) return *refusal;
    command.rule = Recurrence::headersOf(record);
    if (lastHeader(record, header::kValue) == header::kNone) command.value.reset();
    return command;
}

std::optional<std::int64_t> readPosition(Record const& record) noexcept {
    std::int64_t offset = 0;
    if (!record.value) return std::nullopt;
    char const* const end = record.value->data() + record.value->size();
    auto const [read, error] = std::from_chars(record.value->data(), end, offset);
    if (error != std::errc{} || read != end || offset < 0) return std::nullopt;
    return offset;
}

}  // namespace timingwheel::inline v1::kafka
