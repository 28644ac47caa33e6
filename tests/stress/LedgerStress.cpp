#include <support/Effort.h>
#include <support/LedgerRaces.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

using std::chrono::seconds;

TEST(LedgerStress, EachTimeoutHasOneOutcomeInline) {
    Watchdog const watchdog{"the ledger, inline", seconds{60}};
    keepTheLedger(RunsOn::driver, scaled(10'000'000), 100'000);
}

TEST(LedgerStress, EachTimeoutHasOneOutcomeOnAPool) {
    Watchdog const watchdog{"the ledger, on a pool", seconds{60}};
    keepTheLedger(RunsOn::pool, scaled(10'000'000), 100'000);
}

TEST(LedgerStress, EachTimeoutHasOneOutcomeOnAnExecutorThatRefusesSome) {
    Watchdog const watchdog{"the ledger, on an executor that refuses some", seconds{60}};
    keepTheLedger(RunsOn::flakyPool, scaled(10'000'000), 50'000);
}

}  // namespace
}  // namespace timingwheel::test
