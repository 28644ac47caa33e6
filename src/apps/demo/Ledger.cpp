#include "apps/demo/Ledger.h"

namespace demo {

char const* nameOf(Kind kind) {
    switch (kind) {
        case Kind::request:
            return "request timeouts";
        case Kind::retry:
            return "retry pauses";
        case Kind::heartbeat:
            return "heartbeats";
        case Kind::order:
            return "delayed orders";
        case Kind::periodic:
            return "periodic jobs";
    }
    return "?";
}

Account& Account::operator+=(Account const& other) noexcept {
    accepted += other.accepted;
    run += other.run;
    cancelled += other.cancelled;
    rejected += other.rejected;
    returned += other.returned;
    return *this;
}

void Ledger::run(Kind kind, TimePoint due) noexcept {
    checkTime(due);
    add(of(kind).run);
}

void Ledger::runAgain(TimePoint due) noexcept {
    checkTime(due);
    add(periodicRuns_);
}

void Ledger::checkTime(TimePoint due) noexcept {
    if (timingwheel::Clock::steady().now() < due) add(early_);
}

Account Ledger::account(Kind kind) const noexcept {
    Counters const& counters = kinds_[static_cast<std::size_t>(kind)];
    Account account{.accepted = counters.accepted.value,
                    .run = counters.run.value,
                    .cancelled = counters.cancelled.value,
                    .returned = counters.returned.value};
    std::uint64_t const known = account.run + account.cancelled + account.returned;
    // More outcomes than timeouts stay visible, as an account that does not balance.
    if (rejected_.value > 0 && known <= account.accepted)
        account.rejected = account.accepted - known;
    return account;
}

Account Ledger::total() const noexcept {
    Account total;
    for (std::size_t kind = 0; kind < kKinds; ++kind) total += account(static_cast<Kind>(kind));
    total.rejected = rejected_.value;
    return total;
}

std::uint64_t Ledger::runs() const noexcept { return total().run + periodicRuns_.value; }

bool Ledger::isBalanced() const noexcept {
    for (std::size_t kind = 0; kind < kKinds; ++kind)
        if (!account(static_cast<Kind>(kind)).isBalanced()) return false;
    return total().isBalanced();
}

bool Ledger::agreesWith(timingwheel::TimerStatistics const& statistics) const noexcept {
    return total() == accountOf(statistics) && runs() == statistics.runs &&
           pushBacks() == statistics.rescheduled && statistics.pending == 0;
}

Account accountOf(timingwheel::TimerStatistics const& statistics) noexcept {
    return {.accepted = statistics.scheduled,
            .run = statistics.fired,
            .cancelled = statistics.cancelled,
            .rejected = statistics.rejected,
            .returned = statistics.returned};
}

}  // namespace demo
