#include <support/ClockJumps.h>
#include <support/Effort.h>
#include <support/RealClock.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <chrono>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

TEST(ClockStress, NothingIsEarly) {
    Watchdog const watchdog{"the real clock"};
    SystemTimer milliseconds{{.tick = 1ms}};
    measureLateness(milliseconds, "tick 1 ms", scaled(100'000), 2s, 8);
    SystemTimer fine{{.tick = 100us}};
    measureLateness(fine, "tick 100 us", scaled(100'000), 2s, 9);
    SystemTimer spinning{{.tick = 50us, .spin = 200us}};
    measureLateness(spinning, "tick 50 us, spin 200 us", scaled(100'000), 2s, 10);
}

TEST(ClockStress, NothingIsEarlyOnAHashedWheel) {
    Watchdog const watchdog{"the real clock of a flat wheel"};
    HashedWheelTimer timer{{.tick = 1ms, .leakDetection = false}};
    measureLateness(timer, "HashedWheelTimer of 1 ms", scaled(100'000), 2s, 11);
}

TEST(ClockStress, AForwardJumpOfHoursRunsEverythingDueOnceInOrder) {
    Watchdog const watchdog{"a jump with a million pending"};
    jumpHoursAhead<SystemTimer>(scaled(1'000'000), 15);
    jumpHoursAhead<ManualTimer>(scaled(1'000'000), 15);
}

}  // namespace
}  // namespace timingwheel::test
