#include "apps/demo/Ledger.h"

namespace demo {

Account Ledger::account(Kind kind) const noexcept {
    Counters const& counters = kinds_[static_cast<std::size_t>(kind)];
    return {counters.accepted.value, counters.run.value, counters.cancelled.value,
            counters.returned.value};
}

Account Ledger::total() const noexcept {
    Account total;
    for (Counters const& counters : kinds_) {
        total.accepted += counters.accepted.value;
        total.run += counters.run.value;
        total.cancelled += counters.cancelled.value;
        total.returned += counters.returned.value;
    }
    return total;
}

bool Ledger::isBalanced() const noexcept {
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
        if (!account(static_cast<Kind>(kind)).isBalanced()) return false;
    return true;
}

bool Ledger::agreesWith(timingwheel::TimerStatistics const& statistics) const noexcept {
    return total() == accountOf(statistics) && runs() == statistics.runs &&
           pushBacks() == statistics.rescheduled && statistics.pending == 0 &&
           statistics.rejected == 0;
}

Account accountOf(timingwheel::TimerStatistics const& statistics) noexcept {
    return {statistics.scheduled, statistics.fired, statistics.cancelled, statistics.returned};
}

}  // namespace demo
