#include <support/Effort.h>
#include <support/HookRaces.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

using std::chrono::seconds;

TEST(HookStress, DestructorWaitsForARunThatHasBegun) {
    Watchdog const watchdog{"a hook's destructor", seconds{60}};
    raceHookDestructor(0, scaled(1'000'000));
    raceHookDestructor(2, scaled(1'000'000));
}

TEST(HookStress, TwoFirstSchedulesGiveOneShard) {
    // The threads take turns: on a busy machine each turn waits for a processor.
    Watchdog const watchdog{"two first schedules of one hook", seconds{180}};
    raceFirstSchedules(scaled(300'000));
}

TEST(HookStress, OneOfSeveralSchedulesWins) {
    Watchdog const watchdog{"several schedules of one hook", seconds{60}};
    raceScheduleOfOneHook(4, scaled(1'000'000));
}

TEST(HookStress, PushBackRacesWithExpiryAndCancel) {
    Watchdog const watchdog{"push-back", seconds{60}};
    PushBackRace{0, 4}.run(scaled(200'000));
    PushBackRace{2, 4}.run(scaled(200'000));
}

}  // namespace
}  // namespace timingwheel::test
