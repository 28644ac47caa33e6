#include "LedgerRaces.h"

#include <support/Effort.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

TEST(RaceLedger, EachTimeoutHasOneOutcomeInline) {
    Watchdog const watchdog{"the ledger, inline"};
    keepTheLedger(RunsOn::driver, rounds(100'000, 10'000'000), rounds(25'000, 100'000));
}

TEST(RaceLedger, EachTimeoutHasOneOutcomeOnAPool) {
    Watchdog const watchdog{"the ledger, on a pool"};
    keepTheLedger(RunsOn::pool, rounds(100'000, 10'000'000), rounds(25'000, 100'000));
}

TEST(RaceLedger, EachTimeoutHasOneOutcomeOnAnExecutorThatRefusesSome) {
    Watchdog const watchdog{"the ledger, on an executor that refuses some"};
    keepTheLedger(RunsOn::flakyPool, rounds(50'000, 10'000'000), rounds(12'500, 50'000));
}

}  // namespace
}  // namespace timingwheel::test
