#include "core/driver/run/RunMeter.h"

#include <support/LoneContext.h>
#include <support/Threads.h>
#include <timingwheel/TimerStatistics.h>

#include <gtest/gtest.h>

#include <chrono>

namespace timingwheel::detail {
namespace {

using namespace std::chrono_literals;

// Nothing is told better than it was.
TEST(RunMeter, CountsTheTasksOfALongGroupAsBegunWhenItEnded) {
    // Two are measured together only where those before them took no time, which is the machine's
    // affair: it may take several attempts.
    bool isTold = false;
    for (int attempt = 0; attempt < 1'000 && !isTold; ++attempt) {
        test::LoneContext context{TimerOptions{}, false};
        RunMeter meter{context};
        ASSERT_TRUE(meter.groups());
        for (int i = 0; i < 100; ++i) meter.begin(Tick{0});
        meter.finish();

        meter.begin(Tick{0});
        meter.begin(Tick{0});
        test::spinFor(100us);
        Clock::TimePoint const end = context.now();
        meter.finish();

        TimerStatistics statistics;
        context.runs.readInto(statistics);
        isTold = statistics.maxLateness >= end - context.scale.timeOf(Tick{0});
    }
    EXPECT_TRUE(isTold);
}

}  // namespace
}  // namespace timingwheel::detail
