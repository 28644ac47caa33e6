#include <support/Effort.h>
#include <support/LedgerRaces.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

using std::chrono::seconds;

// Ten million operations in all.

TEST(LedgerStress, EachTimeoutHasOneOutcomeInline) {
    Watchdog const watchdog{"the ledger, inline", seconds{60}};
    keepTheLedger(RunsOn::driver, scaled(5'000'000), 100'000);
}

TEST(LedgerStress, EachTimeoutHasOneOutcomeOnAPool) {
    Watchdog const watchdog{"the ledger, on a pool", seconds{60}};
    keepTheLedger(RunsOn::pool, scaled(3'000'000), 100'000);
}

TEST(LedgerStress, EachTimeoutHasOneOutcomeOnAnExecutorThatRefusesSome) {
    Watchdog const watchdog{"the ledger, on an executor that refuses some", seconds{60}};
    keepTheLedger(RunsOn::flakyPool, scaled(2'000'000), 50'000);
}

}  // namespace
}  // namespace timingwheel::test
