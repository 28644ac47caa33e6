#include "apps/demo/Tasks.h"

#include <stdexcept>

namespace demo {

using namespace std::chrono_literals;

void Retry::operator()() const {
    server->ledger.run(kKind, due);
    outbox->put(attempt);
}

void RequestTimeout::operator()() const {
    server->ledger.run(kKind, due);
    if (attempt == kMostAttempts) return;
    auto const pause = 40ms * (1U << attempt);
    TimePoint const again = timingwheel::Clock::steady().now() + pause;
    try {
        server->timer.newTimeout(Retry{server, outbox, again, attempt + 1}, pause);
        server->ledger.accepted(Kind::retry);
    } catch (std::logic_error const&) {
        // The timer is stopping and accepts nothing more, so there is no retry.
    }
}

void DelayedOrder::operator()() const { server->ledger.run(kKind, due); }

void PeriodicJob::operator()(timingwheel::Timeout const& self) {
    server->ledger.runAgain(due);
    if (--runsLeft == 0 && self.cancel()) server->ledger.cancelled(kKind);
    // The timer counts from its own reading of the clock, or from the end of this run: both are
    // later than this.
    due = fixedDelay ? timingwheel::Clock::steady().now() + period : due + period;
}

}  // namespace demo
