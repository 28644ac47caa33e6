#include <support/Effort.h>
#include <support/LedgerRaces.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

TEST(RaceLedger, EachTimeoutHasOneOutcomeInline) {
    Watchdog const watchdog{"the ledger, inline"};
    keepTheLedger(RunsOn::driver, scaled(100'000), scaled(25'000));
}

TEST(RaceLedger, EachTimeoutHasOneOutcomeOnAPool) {
    Watchdog const watchdog{"the ledger, on a pool"};
    keepTheLedger(RunsOn::pool, scaled(100'000), scaled(25'000));
}

TEST(RaceLedger, EachTimeoutHasOneOutcomeOnAnExecutorThatRefusesSome) {
    Watchdog const watchdog{"the ledger, on an executor that refuses some"};
    keepTheLedger(RunsOn::flakyPool, scaled(50'000), scaled(12'500));
}

}  // namespace
}  // namespace timingwheel::test
