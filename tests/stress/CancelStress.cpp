#include <support/CancelRaces.h>
#include <support/Effort.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

using std::chrono::seconds;

TEST(CancelStress, OneOfTwoCancelsAndTheExpiryWins) {
    Watchdog const watchdog{"cancel against cancel against expiry", seconds{60}};
    CancelRace{0, Rival::cancel}.run(scaled(1'000'000));
    CancelRace{2, Rival::cancel}.run(scaled(1'000'000));
}

TEST(CancelStress, RescheduleLaterAgainstCancelAndExpiryHasOneOutcome) {
    Watchdog const watchdog{"cancel against a later reschedule", seconds{60}};
    CancelRace{0, Rival::rescheduleLater}.run(scaled(1'000'000));
    CancelRace{2, Rival::rescheduleLater}.run(scaled(1'000'000));
}

TEST(CancelStress, RescheduleEarlierAgainstCancelAndExpiryHasOneOutcome) {
    Watchdog const watchdog{"cancel against an earlier reschedule", seconds{60}};
    CancelRace{0, Rival::rescheduleEarlier}.run(scaled(1'000'000));
    CancelRace{2, Rival::rescheduleEarlier}.run(scaled(1'000'000));
}

TEST(CancelStress, CancelAndWaitLetsWhatTheTaskUsesDie) {
    Watchdog const watchdog{"cancelAndWait", seconds{60}};
    raceCancelAndWait(0, scaled(1'000'000));
    raceCancelAndWait(2, scaled(1'000'000));
}

}  // namespace
}  // namespace timingwheel::test
