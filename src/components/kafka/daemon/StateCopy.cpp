#include "components/kafka/daemon/StateCopy.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Messages.h"
#include "components/kafka/daemon/TimeOfDay.h"

#include <spdlog/spdlog.h>

#include <stdexcept>
#include <variant>

namespace timingwheel::inline v1::kafka {

StateCopy::StateCopy(Shared& shared, std::int32_t partition, Clock const& clock)
    : timers{nowInMilliseconds()},
      shared_{shared},
      partition_{partition},
      clock_{clock},
      memory_{shared},
      asOf_{clock.now()} {}

void StateCopy::take(rd_kafka_message_t const& message, Placement const& placement,
                     Horizon const& horizon) {
    // After it was read: a suspension before that counts.
    if (isTooOld())
        throw std::runtime_error{shared_.options.state + "/" + std::to_string(partition_) +
                                 " was not read to its end for " + std::to_string(kMaxAge.count()) +
                                 " minutes: tombstones may be gone"};
    if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        next_ = message.offset;
    } else {
        take(recordOf(message), placement, horizon);
        account();
        next_ = message.offset + 1;
    }
    settle();
}

void StateCopy::take(Record const& record, Placement const& placement, Horizon const& horizon) {
    if (record.key == kPositionKey) {
        if (auto const position = readPosition(record))
            position_ = *position;
        else
            ignore(record, "its value is no offset");
    } else if (!record.value) {
        if (record.key) (void)timers.takeOut(*record.key);
    } else {
        auto const state = readState(record);
        auto const* const command = std::get_if<Command>(&state);
        if (command == nullptr) return ignore(record, std::get<Refusal>(state).reason);
        placement.requireOurs(command->id);
        // What would not fit is read when it is due.
        if (horizon.isBeyond(command->at, nowInMilliseconds()) || shared_.isFull())
            timers.addFar(*command, record.offset);
        else
            timers.schedule(*command);
    }
}

void StateCopy::ignore(Record const& record, std::string const& problem) {
    if (malformed_++ > 0) return;
    spdlog::error("partition {}: {}/{}/{}: foreign record, ignored: {}", partition_,
                  shared_.options.state, partition_, record.offset, problem);
}

void StateCopy::settle(std::int64_t end, Clock::TimePoint asked) {
    question_ = {end, asked};
    settle();
}

void StateCopy::settle() noexcept {
    if (!question_ || next_ < question_->end) return;
    asOf_ = question_->asked;
    wasAtTheEnd_ = true;
    question_.reset();
}

}  // namespace timingwheel::inline v1::kafka
