#include "components/kafka/daemon/PendingGauges.h"

#include "components/kafka/daemon/TimeOfDay.h"

#include <algorithm>

namespace timingwheel::inline v1::kafka {

PendingGauges::~PendingGauges() {
    if (assignment_.isStopping) return;
    if (!isAllKnown_) assignment_.shared.metrics.failedToTakeOver();
    assignment_.metrics->worked = Metrics::OfPartition::kNever;
    showEarliest(copy_.timers.earliest());
}

void PendingGauges::update() {
    copy_.account();
    auto& shown = assignment_.metrics->pending;
    std::size_t const pending = copy_.timers.size();
    shown = isAllKnown_ ? pending : std::max(pending, shown.load());
    updateEarliest();
    if (isAllKnown_) assignment_.metrics->show(copy_.timers.minutes(), nowInMilliseconds());
}

void PendingGauges::updateEarliest() { showEarliest(copy_.timers.nextExpiration()); }

/// What is not being delivered is not due before `next`.
void PendingGauges::showEarliest(std::optional<std::int64_t> next) {
    std::int64_t earliest = next.value_or(Metrics::OfPartition::kNone);
    for (Output const& output : outputs_.all())
        if (output.kind == Output::Kind::delivery) earliest = std::min(earliest, output.at);
    auto& shown = assignment_.metrics->earliest;
    shown = isAllKnown_ ? earliest : std::min(earliest, shown.load());
}

}  // namespace timingwheel::inline v1::kafka
