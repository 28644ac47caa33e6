#include "components/kafka/daemon/TakeOver.h"

#include "components/kafka/client/Headers.h"
#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Messages.h"
#include "components/kafka/daemon/StateReader.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <variant>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

namespace {

using std::chrono::milliseconds;

// In place of an offset, if there is none.
constexpr std::int64_t kNoOffset = -1;

CommandReader::Range rangeOfCommands(Assignment const& assignment) {
    Shared const& shared = assignment.shared;
    CommandReader::Range range{};
    check(rd_kafka_query_watermark_offsets(shared.consumer, shared.options.commands.c_str(),
                                           assignment.number, &range.low, &range.high,
                                           kOffsetTimeout),
          "to ask where " + shared.options.commands + " begins");
    return range;
}

/// What the group has committed, once no transaction is open that would change it. A broker that
/// was replaced a moment ago may answer with an earlier one, or with none: the state knows better.
std::int64_t offsetOfGroup(Assignment const& assignment) {
    Shared const& shared = assignment.shared;
    PartitionList const list = partitionList(shared.options.commands, assignment.number);
    check(rd_kafka_committed(shared.consumer, list.get(), kOffsetTimeout), "to ask for the offset");
    check(list->elems[0].err, "to ask for the offset");
    return std::max(list->elems[0].offset, kNoOffset);
}

/// Takes what the records of the state say, in their order.
class StateIntake {
public:
    StateIntake(Assignment const& assignment, Placement const& placement, PendingTimers& timers,
                Horizon const& horizon)
        : assignment_{assignment}, placement_{placement}, timers_{timers}, horizon_{horizon} {}

    void take(Record const& record) {
        if (record.key == kPositionKey) {
            if (auto const position = readPosition(record))
                position_ = *position;
            else
                ignore(record, "its value is no offset");
        } else if (!record.value) {
            if (record.key) (void)timers_.takeOut(*record.key);
        } else {
            if (record.key) placement_.requireOurs(*record.key);
            auto const state = readState(record);
            if (auto const* const command = std::get_if<Command>(&state))
                take(*command, record.offset);
            else
                ignore(record, std::get<Refusal>(state).reason);
        }
    }
    /// The offset behind the commands that it has taken in.
    std::int64_t position() const noexcept { return position_; }

private:
    void take(Command const& command, std::int64_t offset) {
        if (horizon_.isBeyond(command.at, now_))
            timers_.addFar(command, offset);
        else
            timers_.schedule(command);
    }
    void ignore(Record const& record, std::string const& problem) {
        if (malformed_++ > 0) return;
        spdlog::error("partition {}: {}/{}/{}: foreign record, ignored: {}", assignment_.number,
                      assignment_.shared.options.state, assignment_.number, record.offset, problem);
    }

    Assignment const& assignment_;
    Placement const& placement_;
    PendingTimers& timers_;
    Horizon const& horizon_;
    std::int64_t const now_ = nowInMilliseconds();
    std::int64_t position_ = kNoOffset;
    std::size_t malformed_ = 0;
};

/// Reads what is committed, up to a mark that is written now. What is open at that mark is waited
/// for. Returns the offset behind the commands that the state has taken in.
std::int64_t readState(Assignment& assignment, Producer& producer, StateIntake intake,
                       PendingGauges& gauges) {
    Shared const& shared = assignment.shared;
    std::int64_t const end = producer.endOfState();
    StateReader reader{shared.options, assignment.number};
    reader.goTo(RD_KAFKA_OFFSET_BEGINNING);
    std::int64_t read = 0;
    while (read <= end && !assignment.isStopping) {
        Message const message = reader.next(milliseconds{100});
        if (!message) continue;
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            read = message->offset;
            continue;
        }
        read = message->offset + 1;
        intake.take(recordOf(*message));
        if (read % 4'096 == 0) gauges.update();
        if (shared.isFull())
            throw DoesNotFit{"what is pending does not fit into --memory-mb " +
                             std::to_string(shared.options.memory) +
                             ": it waits, and is not lost. Give more memory, or more workers"};
    }
    gauges.update();
    return intake.position();
}

}  // namespace

TakenOver takeOver(Assignment& assignment, Placement const& placement, PendingTimers& timers,
                   Horizon const& horizon, PendingGauges& gauges) {
    // Ends what a former owner has left open, and fences it.
    auto producer = std::make_unique<Producer>(assignment.shared.options, assignment.number,
                                               assignment.isStopping);
    CommandReader::Range const commands = rangeOfCommands(assignment);
    std::int64_t const ofGroup = offsetOfGroup(assignment);
    assignment.metrics->lag = commands.high - std::clamp(ofGroup, commands.low, commands.high);
    std::int64_t const ofState = readState(
        assignment, *producer, StateIntake{assignment, placement, timers, horizon}, gauges);
    // The group's is the later one only if somebody has set it by hand.
    return {std::move(producer), std::max(ofGroup, ofState), commands};
}

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
