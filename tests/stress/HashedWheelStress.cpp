#include <support/Effort.h>
#include <support/HashedWheelRaces.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

using std::chrono::seconds;
using RunsOn = HashedWheelRunsOn;

TEST(HashedWheelStress, EachTimeoutHasOneOutcomeOnTheWorker) {
    Watchdog const watchdog{"the ledger, on the worker", seconds{120}};
    keepTheHashedWheelLedger(RunsOn::worker, scaled(10'000'000), 100'000);
}

TEST(HashedWheelStress, EachTimeoutHasOneOutcomeOnAPool) {
    Watchdog const watchdog{"the ledger, on a pool", seconds{120}};
    keepTheHashedWheelLedger(RunsOn::pool, scaled(10'000'000), 100'000);
    keepTheHashedWheelLedger(RunsOn::ownPool, scaled(10'000'000), 100'000);
}

TEST(HashedWheelStress, EachTimeoutHasOneOutcomeOnAnExecutorThatRefusesSome) {
    Watchdog const watchdog{"the ledger, on an executor that refuses some", seconds{120}};
    keepTheHashedWheelLedger(RunsOn::flakyPool, scaled(10'000'000), 50'000);
}

TEST(HashedWheelStress, OneOfCancelCancelAndWaitAndTheExpiryWins) {
    Watchdog const watchdog{"cancel against cancelAndWait against expiry", seconds{180}};
    HashedWheelCancelRace{RunsOn::worker}.run(scaled(2'000'000));
    HashedWheelCancelRace{RunsOn::pool}.run(scaled(2'000'000));
    HashedWheelCancelRace{RunsOn::ownPool}.run(scaled(2'000'000));
}

TEST(HashedWheelStress, StopLosesNothingWhileOthersSchedule) {
    Watchdog const watchdog{"stop() against newTimeout", seconds{180}};
    HashedWheelStopRace{RunsOn::worker, 16}.run(scaled(5'000));
    HashedWheelStopRace{RunsOn::pool, 8}.run(scaled(5'000));
    HashedWheelStopRace{RunsOn::ownPool, 8}.run(scaled(5'000));
}

TEST(HashedWheelStress, NeverExceedsTheLimitOfPendingTimeouts) {
    Watchdog const watchdog{"the limit of pending timeouts", seconds{120}};
    loadAHashedWheelUpToTheLimit(32, scaled(10'000'000), 1'000);
}

TEST(HashedWheelStress, CancelledTimeoutsAreGoneWithinATick) {
    Watchdog const watchdog{"cancelling far timeouts", seconds{120}};
    cancelFarHashedWheelTimeouts(scaled(10'000'000), 4);
}

TEST(HashedWheelStress, NoWakeUpIsLost) {
    Watchdog const watchdog{"wake-ups of the worker", seconds{120}};
    wakeAHashedWheel(scaled(20'000));
}

TEST(HashedWheelStress, HandlesOutliveATimerThatIsBeingDestroyed) {
    Watchdog const watchdog{"handles against the destructor", seconds{180}};
    raceHashedWheelHandlesAgainstDestructor(scaled(20'000));
}

}  // namespace
}  // namespace timingwheel::test
