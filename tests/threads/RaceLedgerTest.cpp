#include "LedgerRaces.h"

#include <support/AnyTimer.h>
#include <support/Effort.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <type_traits>

// Shows G3.

namespace timingwheel::test {
namespace {

template <class T>
class RaceLedger : public testing::Test {};
TYPED_TEST_SUITE(RaceLedger, TimersWithAThread, NamesOfAllTimers);

TYPED_TEST(RaceLedger, EachTimeoutHasOneOutcomeInline) {
    Watchdog const watchdog{"the ledger, inline"};
    keepTheLedger<TypeParam>(RunsOn::driver, rounds(100'000, 10'000'000), rounds(25'000, 100'000));
}

TYPED_TEST(RaceLedger, EachTimeoutHasOneOutcomeOnAPool) {
    Watchdog const watchdog{"the ledger, on a pool"};
    keepTheLedger<TypeParam>(RunsOn::pool, rounds(100'000, 10'000'000), rounds(25'000, 100'000));
    if constexpr (std::is_same_v<TypeParam, HashedWheelTimer>) {
        keepTheLedger<TypeParam>(RunsOn::ownPool, rounds(100'000, 10'000'000),
                                 rounds(25'000, 100'000));
    }
}

TYPED_TEST(RaceLedger, EachTimeoutHasOneOutcomeOnAnExecutorThatRefusesSome) {
    Watchdog const watchdog{"the ledger, on an executor that refuses some"};
    keepTheLedger<TypeParam>(RunsOn::flakyPool, rounds(50'000, 10'000'000), rounds(12'500, 50'000));
}

}  // namespace
}  // namespace timingwheel::test
