#include "components/kafka/daemon/Refusals.h"

#include "components/kafka/daemon/Delivery.h"
#include "components/kafka/daemon/Producer.h"

#include <spdlog/spdlog.h>

#include <memory>
#include <stdexcept>

namespace timingwheel::inline v1::kafka {

void Refusals::giveUp(Output& output, rd_kafka_resp_err_t error, PendingTimers& timers,
                      Outputs& outputs) {
    std::string const reason = rd_kafka_err2str(error);
    switch (output.kind) {
        case Output::Kind::delivery:
            spdlog::error("partition {}: a timer could not be delivered to {}: {}",
                          assignment_.number, timers.topicOf(*output.timer), reason);
            output.turnInto(Output::Kind::deadLetter, std::make_unique<OwnRecord>(letterOf(
                                                          *output.timer, output.at, timers,
                                                          assignment_.sourceOfLetters(), reason)));
            output.countsAs = &Tally::failed;
            return;
        case Output::Kind::state:
            if (!isRecordFault(error)) break;
            // Its reply and later commands are of a timer that will not be. So they are taken in
            // anew, without it.
            refused_[output.next - 1] = "the state does not take the timer: " + reason;
            throw std::runtime_error{"the command at offset " + std::to_string(output.next - 1) +
                                     " is refused: the state does not take the timer: " + reason};
        case Output::Kind::recurrence:
            if (!isRecordFault(error)) break;
            spdlog::error("partition {}: a timer recurs no more, the state does not take it: {}",
                          assignment_.number, reason);
            return endRecurrence(output, timers, outputs);
        case Output::Kind::deadLetter:
            if (!isRecordFault(error)) break;
            if (isTooLarge(error) && output.record->value) {  // goes without it
                output.record->value.reset();
                return;
            }
            [[fallthrough]];
        case Output::Kind::reply:
            spdlog::error("partition {}: given up, and not written to {}: {}", assignment_.number,
                          topicOf(output.kind), reason);
            output.turnInto(Output::Kind::nothing);
            return;
        case Output::Kind::tombstone:
            break;
        case Output::Kind::nothing:
            return;
    }
    fail(output.kind, error);
}

void Refusals::fail(Output::Kind kind, rd_kafka_resp_err_t error) const {
    throw std::runtime_error{"the state and the dead letters must be written, and cannot be: " +
                             topicOf(kind) + ": " + rd_kafka_err2str(error)};
}

std::string const& Refusals::topicOf(Output::Kind kind) const {
    Options const& options = assignment_.shared.options;
    if (kind == Output::Kind::reply) return options.replies;
    return kind == Output::Kind::deadLetter ? options.deadLetters : options.state;
}

std::string Refusals::reasonOf(std::int64_t offset) const {
    auto const found = refused_.find(offset);
    return found == refused_.end() ? std::string{} : found->second;
}

}  // namespace timingwheel::inline v1::kafka
