#include "apps/demo/FollowOneTask.h"
#include "apps/demo/HeapWithMutex.h"
#include "apps/terminal/Format.h"

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace demo {
namespace {

using namespace std::chrono_literals;
using timingwheel::TimerEvent;

class LevelsSeen final : public timingwheel::TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        if (event.stage == TimerEvent::Stage::place || event.stage == TimerEvent::Stage::cascade)
            levels.push_back(event.level);
    }
    std::vector<std::uint32_t> levels;
};

TEST(Demo, FollowsATaskThroughEveryLevelWhateverTheWheel) {
    for (std::int64_t const wheelSize : {2, 3, 7, 20, 64, 512}) {
        for (std::int64_t const wanted : {1, 19, 400, 401, 8000, 8500}) {
            std::int64_t const deadline = deadlineThroughAllLevels(wanted, wheelSize);
            SCOPED_TRACE(::testing::Message() << wheelSize << " slots, deadline " << deadline);
            LevelsSeen seen;
            timingwheel::ManualClock clock;
            timingwheel::ManualTimer timer{
                {.tick = 1ms, .wheelSize = wheelSize, .clock = clock, .observer = &seen}};
            timer.newTimeout([] {}, 1ms * deadline);
            clock.advance(1ms * deadline);

            ASSERT_FALSE(seen.levels.empty());
            std::vector<std::uint32_t> expected;
            for (std::uint32_t level = seen.levels.front() + 1; level-- > 0;)
                expected.push_back(level);
            EXPECT_EQ(seen.levels, expected);
            EXPECT_EQ(timer.pendingTimeouts(), 0U);
        }
    }
}

TEST(Demo, ChoosesADeadlineNearTheOneWanted) {
    EXPECT_EQ(deadlineThroughAllLevels(8500, 20), 8502);
    EXPECT_EQ(deadlineThroughAllLevels(8500, 512), 8500);
    EXPECT_EQ(deadlineThroughAllLevels(1000, 10), 1222);
    EXPECT_EQ(deadlineThroughAllLevels(8, 2), 15);
    EXPECT_EQ(deadlineThroughAllLevels(3, 20), 3);
    EXPECT_EQ(deadlineThroughAllLevels(0, 20), 1);
}

TEST(Demo, MeasuresWhatACallTakes) {
    timingwheel::TimerStatistics load;
    load.scheduled = 3;
    load.rescheduled = 5;
    load.pending = 100;
    CallTimes const calls = measureCalls(load, 2, 1ms);
    EXPECT_GT(calls.heap, 0ns);
    EXPECT_GT(calls.wheel, 0ns);
}

TEST(Demo, PrintsNumbersForPeople) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1'234'567), "1,234,567");
    EXPECT_EQ(readable(8s), "8 s");
    EXPECT_EQ(readable(400ms), "400 ms");
    EXPECT_EQ(readable(68'200ns), "68.2 us");
    EXPECT_EQ(readable(999'900ns), "1 ms");
    EXPECT_EQ(readable(160s), "160 s");
}

}  // namespace
}  // namespace demo
