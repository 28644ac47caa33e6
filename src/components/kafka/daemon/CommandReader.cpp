#include "components/kafka/daemon/CommandReader.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Messages.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace timingwheel::inline v1::kafka {

using std::chrono::milliseconds;

namespace {

/// The consumer finds where the log begins, if that is later than `offset`. To ask is not enough:
/// if the first of its two requests fails, librdkafka 2.0 says that the log begins at its end, and
/// all that waits would be passed over.
std::int64_t firstOf(std::int64_t offset, Range log) {
    if (offset >= 0) return offset;
    return log.low == log.high ? 0 : log.low;
}

}  // namespace

CommandReader::CommandReader(Assignment& assignment, Inbox& inbox, std::int64_t offset, Range log)
    : assignment_{assignment}, inbox_{inbox}, next_{firstOf(offset, log)} {
    if (offset > log.high)
        throw std::runtime_error{"the offset " + std::to_string(offset) + " is beyond " +
                                 assignment.shared.options.commands + ", which ends at " +
                                 std::to_string(log.high) + ": was the topic made anew?"};
    inbox_.openAt(next_);
}

CommandReader::Batch CommandReader::read(milliseconds patience) {
    // Cancels and what is due make room.
    bool const isFull = assignment_.shared.isFull();
    if (isFull) assignment_.pause(std::min(patience, milliseconds{100}));
    Batch batch;
    batch.messages = inbox_.take(
        assignment_.shared.options.batch, isFull ? milliseconds{0} : patience,
        [isFull](rd_kafka_message_t const& message) {
            return isFull && lastHeader(recordOf(message), header::kCommand) == header::kSchedule;
        });
    readAt_ = std::chrono::steady_clock::now();
    std::vector<Gap> gaps;
    for (auto const& [message, bytes, logBegin] : batch.messages) {
        if (message->offset > next_) gaps.push_back({next_, message->offset, logBegin});
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            next_ = std::max(next_, message->offset);
            continue;
        }
        if (message->offset < next_)
            throw std::runtime_error{"the command at offset " + std::to_string(message->offset) +
                                     " was read again"};
        batch.commands.push_back(recordOf(*message));
        next_ = message->offset + 1;
    }
    batch.lost = reportLost(gaps);
    batch.begin = batch.commands.empty() ? next_ : batch.commands.front().offset;
    return batch;
}

/// Offsets without a command are of transactions, or of commands that retention has removed.
/// Returns how many those are. Brokers say with all that they send where the log begins.
std::uint64_t CommandReader::reportLost(std::vector<Gap> const& gaps) const {
    Shared const& shared = assignment_.shared;
    std::int64_t now = -1;
    std::uint64_t lost = 0;
    for (auto const& [from, to, logBegin] : gaps) {
        if (logBegin < 0 && now < 0)  // they said last that they cannot
            now = rangeOf(shared.consumer, shared.options.commands, assignment_.number).low;
        std::int64_t const low = logBegin < 0 ? now : logBegin;
        if (from >= low) continue;
        std::int64_t const end = std::min(to, low);
        spdlog::error("partition {}: commands {} to {} are lost: retention removed them unread",
                      assignment_.number, from, end - 1);
        lost += static_cast<std::uint64_t>(end - from);
    }
    return lost;
}

void CommandReader::showLag() const {
    std::int64_t low = -1;
    std::int64_t high = -1;
    Shared const& shared = assignment_.shared;
    rd_kafka_get_watermark_offsets(shared.consumer, shared.options.commands.c_str(),
                                   assignment_.number, &low, &high);
    if (high >= 0) assignment_.metrics->lag = std::max<std::int64_t>(high - next_, 0);
}

}  // namespace timingwheel::inline v1::kafka
