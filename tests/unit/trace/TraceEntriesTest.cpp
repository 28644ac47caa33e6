#include "core/trace/TraceEntries.h"

#include <support/Effort.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace timingwheel::detail {
namespace {

using Stage = TimerEvent::Stage;

TimerEvent event(Stage stage, int const& entry, Tick deadline = Tick{5}, std::uint32_t shard = 0) {
    return {.stage = stage, .shard = shard, .deadline = deadline, .entry = &entry};
}

TEST(TraceEntries, ForgetsWhatHasEnded) {
    TraceEntries entries;
    std::vector<int> const addresses(1000);
    for (std::uint64_t i = 1; i <= test::scaled(1'000'000); ++i) {
        int const& entry = addresses[i % addresses.size()];
        ASSERT_EQ(entries.numberOf(event(Stage::schedule, entry)), i);
        ASSERT_EQ(entries.numberOf(event(i % 2 == 0 ? Stage::run : Stage::cancel, entry)), i);
        ASSERT_EQ(entries.size(), 0U);
    }
}

TEST(TraceEntries, TellsRunsOfAHookApartThatIsScheduledMeanwhile) {
    TraceEntries entries;
    int const hook = 0;
    EXPECT_EQ(entries.numberOf(event(Stage::schedule, hook)), 1U);
    EXPECT_EQ(entries.numberOf(event(Stage::expire, hook)), 1U);
    EXPECT_EQ(entries.numberOf(event(Stage::schedule, hook, Tick{9})), 2U);
    EXPECT_EQ(entries.numberOf(event(Stage::place, hook, Tick{9})), 2U);
    EXPECT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries.numberOf(event(Stage::run, hook, Tick{5})), 1U);
    EXPECT_EQ(entries.numberOf(event(Stage::cancel, hook, Tick{9})), 2U);
    EXPECT_EQ(entries.size(), 0U);
}

// On an executor with several threads: the second and the third run end before the first.
TEST(TraceEntries, TellsRunsOfAHookApartThatEndInAnotherOrder) {
    TraceEntries entries;
    int const hook = 0;
    auto const at = [&](Stage stage, int time) {
        TimerEvent it = event(stage, hook);
        it.time = Clock::TimePoint{std::chrono::nanoseconds{time}};
        return it;
    };
    for (int i = 0; i < 3; ++i) {  // scheduled at 0, 10, 20; begun at 5, 15, 25
        entries.numberOf(at(Stage::schedule, 10 * i));
        entries.numberOf(at(Stage::expire, 10 * i + 1));
    }
    EXPECT_EQ(entries.numberOf(at(Stage::run, 15)), 2U);
    EXPECT_EQ(entries.numberOf(at(Stage::run, 25)), 3U);
    EXPECT_EQ(entries.numberOf(at(Stage::run, 5)), 1U);
    EXPECT_EQ(entries.size(), 0U);
}

TEST(TraceEntries, DoesNotConfuseShardsThatAreOutOfStep) {
    TraceEntries entries;
    int const entry = 0;
    EXPECT_EQ(entries.numberOf(event(Stage::schedule, entry, Tick{5}, 0)), 1U);
    EXPECT_EQ(entries.numberOf(event(Stage::schedule, entry, Tick{5}, 1)), 2U);
    EXPECT_EQ(entries.numberOf(event(Stage::run, entry, Tick{5}, 0)), 1U);
    EXPECT_EQ(entries.numberOf(event(Stage::run, entry, Tick{5}, 1)), 2U);
}

TEST(TraceEntries, HasNoNumberForWhatHasEnded) {
    TraceEntries entries;
    int const entry = 0;
    EXPECT_EQ(entries.numberOf(event(Stage::place, entry)), 0U);
    EXPECT_EQ(entries.size(), 0U);
}

}  // namespace
}  // namespace timingwheel::detail
