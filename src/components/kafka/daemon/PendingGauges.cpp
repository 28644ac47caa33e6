#include "components/kafka/daemon/PendingGauges.h"

#include <algorithm>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

PendingGauges::~PendingGauges() {
    setMemory(0);
    if (assignment_.isStopping) return;
    if (!isAllKnown_) assignment_.shared.metrics.failedToTakeOver();
    assignment_.metrics->worked = Metrics::OfPartition::kNever;
    showEarliest(timers_.earliest());
}

void PendingGauges::update() {
    setMemory(timers_.bytes());
    auto& shown = assignment_.metrics->pending;
    std::size_t const pending = timers_.size();
    shown = isAllKnown_ ? pending : std::max(pending, shown.load());
    updateEarliest();
    if (isAllKnown_) assignment_.metrics->show(timers_.minutes(), nowInMilliseconds());
}

void PendingGauges::updateEarliest() { showEarliest(timers_.nextExpiration()); }

void PendingGauges::setMemory(std::size_t bytes) {
    Shared& shared = assignment_.shared;
    shared.memory += bytes - memory_;
    memory_ = bytes;
    shared.metrics.setMemory(shared.memory);
}

/// What is not being delivered is not due before `next`.
void PendingGauges::showEarliest(std::optional<std::int64_t> next) {
    std::int64_t earliest = next.value_or(Metrics::OfPartition::kNone);
    for (Output const& output : outputs_.all())
        if (output.kind == Output::Kind::delivery) earliest = std::min(earliest, output.at);
    auto& shown = assignment_.metrics->earliest;
    shown = isAllKnown_ ? earliest : std::min(earliest, shown.load());
}

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
