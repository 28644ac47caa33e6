#include "components/kafka/daemon/Intake.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Targets.h"

#include <stdexcept>
#include <utility>
#include <variant>

namespace timingwheel::inline v1::kafka {

OwnRecord OwnRecord::of(Record const& record) {
    OwnRecord own;
    if (record.key) own.key.emplace(*record.key);
    if (record.value) own.value.emplace(*record.value);
    for (auto const& [name, value] : record.headers) {
        auto& header = own.headers.emplace_back(std::string{name}, std::nullopt);
        if (value) header.second.emplace(*value);
    }
    return own;
}

OwnRecord deadLetter(OwnRecord record, std::string const& source, std::string const& reason) {
    record.headers.emplace_back(std::string{header::kReason}, reason);
    record.headers.emplace_back(std::string{header::kFrom}, source);
    return record;
}

void Intake::take(Record const& record, std::int64_t now, Outputs& outputs) {
    outputs.beginStep(record.offset + 1);
    auto const read = readCommand(
        record, {.now = now, .earliest = now - rules_.maxPast, .latest = now + rules_.maxDelay});
    std::string reason;
    if (auto const* const refusal = std::get_if<Refusal>(&read)) {
        reason = refusal->reason;
    } else if (!rules_.isOurs(*record.key)) {
        reason =
            "the key belongs to another partition: commands must be partitioned by murmur2, as "
            "Java does (librdkafka: partitioner=murmur2_random)";
    } else {
        reason = rules_.refusalOf(record.offset);
        auto const& command = std::get<Command>(read);
        bool const isSchedule = command.kind == Command::Kind::schedule;
        if (reason.empty() && isSchedule) reason = refusalOfTarget(rules_.targets, command.to);
        if (reason.empty() && isSchedule) reason = rules_.refusalOfTopic(command.to);
    }
    if (!reason.empty()) {
        refuse(record, reason, outputs);
        return;
    }

    auto const& command = std::get<Command>(read);
    if (command.kind == Command::Kind::schedule) {
        auto [added, hasReplaced, replaced] = timers_.schedule(command);
        outputs.state(*added);
        outputs.countAs(&Tally::scheduled);
        reply(record, hasReplaced ? kReplaced : kScheduled, {}, outputs);
        outputs.keep(std::move(replaced));
    } else if (!timers_.contains(command.id)) {
        outputs.nothing();
        outputs.countAs(&Tally::tooLate);
        reply(record, kTooLate, {}, outputs);
    } else if (command.kind == Command::Kind::pushBack) {
        PendingTimer* const timer = timers_.find(command.id);
        if (timer == nullptr) throw std::logic_error{"a far timer is pushed back"};
        timers_.pushBack(*timer, command.at);
        outputs.state(*timer);
        outputs.countAs(&Tally::pushedBack);
        reply(record, kPushedBack, {}, outputs);
    } else {
        outputs.tombstone(timers_.takeOut(command.id));
        outputs.countAs(&Tally::cancelled);
        reply(record, kCancelled, {}, outputs);
    }
}

void Intake::refuse(Record const& record, std::string const& reason, Outputs& outputs) {
    std::string const source = rules_.source + "/" + std::to_string(record.offset);
    outputs.deadLetter(deadLetter(OwnRecord::of(record), source, reason));
    outputs.countAs(&Tally::refused);
    reply(record, kRefused, reason, outputs);
}

void Intake::reply(Record const& record, std::string_view outcome, std::string const& reason,
                   Outputs& outputs) {
    if (!rules_.hasReplies) return;
    auto const asked = lastHeader(record, header::kReply);
    if (!asked) return;
    OwnRecord reply;
    if (record.key) reply.key.emplace(*record.key);
    auto const add = [&reply](std::string_view name, std::string_view value) {
        reply.headers.emplace_back(std::string{name}, std::string{value});
    };
    add(header::kReply, *asked);
    if (auto const command = lastHeader(record, header::kCommand)) add(header::kCommand, *command);
    add(header::kOutcome, outcome);
    if (!reason.empty()) add(header::kReason, reason);
    outputs.reply(std::move(reply));
}

}  // namespace timingwheel::inline v1::kafka
