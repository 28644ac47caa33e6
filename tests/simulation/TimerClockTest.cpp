// The clock of a timer, which goes when the timer has stopped, and those who still ask for the
// time.

#include "Trial.h"
#include "core/driver/context/TimerClock.h"

#include <timingwheel/ManualClock.h>

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

TEST(TimerClockInterleavings, NobodyAsksAClockThatIsGone) {
    expectAll(
        "G11", "interleavings of a clock's end and a question with the clock used after it",
        [] {
            auto clock = std::make_unique<ManualClock>(Clock::TimePoint{milliseconds{7}});
            detail::TimerClock time{*clock, detail::TimerClock::Reading::exact, {}};
            std::thread hook{[&] {
                require(time.nowOrFrozen() == Clock::TimePoint{milliseconds{7}}, "another time");
            }};
            time.freeze();
            clock.reset();
            hook.join();
        },
        kAnyNumber);
}

}  // namespace
}  // namespace timingwheel::test::simulation
