#include <support/Effort.h>
#include <support/StopRaces.h>

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

using std::chrono::seconds;

TEST(StopStress, OneOf16CallersGetsTheTasksWhile16OthersSchedule) {
    Watchdog const watchdog{"stop() against schedule", seconds{180}};
    StopRace{16, 16, 0}.run(scaled(100'000));
    StopRace{16, 16, 2}.run(scaled(100'000));
}

TEST(StopStress, HandlesOutliveATimerThatIsBeingDestroyed) {
    Watchdog const watchdog{"handles against the destructor", seconds{180}};
    // All of them under sanitizers too: this is what those are for.
    raceHandlesAgainstDestructor(scaledByEnvironment(100'000));
}

}  // namespace
}  // namespace timingwheel::test
