#include "components/kafka/daemon/TakeOver.h"

#include "components/kafka/daemon/StateReader.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel::inline v1::kafka {

namespace {

using std::chrono::milliseconds;

/// What the group has committed, once no transaction is open that would change it. A broker that
/// was replaced a moment ago may answer with an earlier one, or with none: the state knows better.
std::int64_t offsetOfGroup(Assignment const& assignment) {
    Shared const& shared = assignment.shared;
    PartitionList const list = partitionList(shared.options.commands, assignment.number);
    check(rd_kafka_committed(shared.consumer, list.get(), kRequestTimeout),
          "to ask for the offset");
    check(list->elems[0].err, "to ask for the offset");
    return std::max(list->elems[0].offset, StateCopy::kNoOffset);
}

/// Reads what is committed, up to the mark at `end`. What is open at that mark is waited for.
/// Returns how many records that were.
std::size_t readUpTo(std::int64_t end, StateReader& reader, Assignment const& assignment,
                     Placement const& placement, StateCopy& copy, Horizon const& horizon,
                     PendingGauges& gauges) {
    Shared const& shared = assignment.shared;
    std::size_t read = 0;
    while (copy.next() <= end && !assignment.isStopping) {
        Message const message = reader.next(milliseconds{100});
        if (!message) continue;
        copy.take(*message, placement, horizon);
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR && ++read % 4'096 == 0) gauges.update();
        if (shared.isOverfull())
            throw DoesNotFit{"what is pending does not fit into --memory-mb " +
                             std::to_string(shared.options.memory) +
                             ": it waits, and is not lost. Give more memory, or more workers"};
    }
    gauges.update();
    return read;
}

}  // namespace

TakenOver takeOver(Assignment& assignment, Placement const& placement, StateCopy& copy,
                   Horizon const& horizon, PendingGauges& gauges) {
    // What is committed now is so later: it may read before all else.
    StateReader reader{assignment.shared.options, assignment.number};
    reader.goTo(copy.next());
    // Ends what a former owner has left open, and fences it.
    auto producer = std::make_unique<Producer>(assignment.shared.options, assignment.number,
                                               assignment.shared.consumer, assignment.isStopping);
    Range const commands =
        rangeOf(assignment.shared.consumer, assignment.shared.options.commands, assignment.number);
    std::int64_t const ofGroup = offsetOfGroup(assignment);
    assignment.metrics->lag = commands.high - std::clamp(ofGroup, commands.low, commands.high);
    std::int64_t const end = producer->endOfState();
    if (copy.next() > end)
        throw std::runtime_error{"offset " + std::to_string(copy.next()) + " is beyond " +
                                 assignment.shared.options.state + ", which ends at " +
                                 std::to_string(end) + ": was the topic made anew?"};
    std::size_t const read = readUpTo(end, reader, assignment, placement, copy, horizon, gauges);
    // The group's is the later one only if somebody has set it by hand.
    return {std::move(producer), std::max(ofGroup, copy.position()), commands, read};
}

}  // namespace timingwheel::inline v1::kafka
