#include "apps/demo/Format.h"
#include "apps/demo/Trace.h"
#include "apps/demo/WayDown.h"

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
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
    EXPECT_EQ(deadlineThroughAllLevels(8500, 20), 8499);
    EXPECT_EQ(deadlineThroughAllLevels(8500, 512), 8500);
    EXPECT_EQ(deadlineThroughAllLevels(8500, 2), 8191);
    EXPECT_EQ(deadlineThroughAllLevels(8500, 3), 9841);
    EXPECT_EQ(deadlineThroughAllLevels(1101, 10), 1111);
    EXPECT_EQ(deadlineThroughAllLevels(1104, 10), 1111);
    EXPECT_EQ(deadlineThroughAllLevels(1000, 10), 999);
    EXPECT_EQ(deadlineThroughAllLevels(3, 20), 3);
    EXPECT_EQ(deadlineThroughAllLevels(0, 20), 1);
}

TEST(Demo, WritesATraceInTheFormatThatTheFileSays) {
    EXPECT_EQ(checkTrace("a.json"), "");
    EXPECT_EQ(checkTrace("a.jsonl"), "");
    EXPECT_EQ(checkTrace("a.txt"),
              "a.txt ends neither in .json, for Perfetto, nor in .jsonl, for JSON lines");
    EXPECT_EQ(TraceFile{""}.open(), nullptr);
    EXPECT_THROW(TraceFile{"/nowhere/to/be/found.json"}.open(), std::system_error);
    for (auto const& [name, first] : {std::pair{"demo.json", "["}, std::pair{"demo.jsonl", "{"}}) {
        std::string const path = testing::TempDir() + name;
        TraceFile traceFile{path};
        {
            auto const trace = traceFile.open();
            timingwheel::ManualClock clock;
            timingwheel::ManualTimer timer{{.clock = clock, .observer = trace.get()}};
            timer.newTimeout([] {}, 25ms);
            clock.advance(25ms);
        }
        EXPECT_FALSE(traceFile.hasFailed());
        std::ifstream file{path};
        std::string line;
        EXPECT_TRUE(std::getline(file, line));
        EXPECT_EQ(line.substr(0, 1), first);
        std::remove(path.c_str());
    }
}

// Bug pattern: the disk is full, and the program says that all went well.
TEST(Demo, KnowsThatATraceCouldNotBeWritten) {
    TraceFile full{"/dev/full"};
    testing::internal::CaptureStderr();
    {
        auto const trace = full.open();
        timingwheel::ManualClock clock;
        timingwheel::ManualTimer timer{{.clock = clock, .observer = trace.get()}};
        timer.newTimeout([] {}, 25ms);
    }
    EXPECT_TRUE(full.hasFailed());
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "timingwheel-demo: trace \"/dev/full\": No space left on device\n");
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
