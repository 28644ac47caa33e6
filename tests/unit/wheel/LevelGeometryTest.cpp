#include <timingwheel/Tick.h>
#include <timingwheel/wheel/LevelGeometry.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace timingwheel {
namespace {

TEST(LevelGeometry, GivesEveryLevelTheSameSize) {
    LevelGeometry const geometry{20};
    EXPECT_EQ(geometry.sizeOf(0), 20U);
    EXPECT_EQ(geometry.sizeOf(13), 20U);
}

TEST(LevelGeometry, RepeatsTheLastSize) {
    LevelGeometry const clock{20, std::vector<std::int64_t>{60, 60, 24, 7}};
    std::vector<std::uint32_t> sizes;
    for (std::size_t level = 0; level < 6; ++level) sizes.push_back(clock.sizeOf(level));
    EXPECT_EQ(sizes, (std::vector<std::uint32_t>{60, 60, 24, 7, 7, 7}));
    EXPECT_EQ(clock.sizeOf(LevelGeometry::kMaxLevels), 7U);
}

TEST(LevelGeometry, MakesASlotAsWideAsTheLevelBelow) {
    LevelGeometry const clock{20, std::vector<std::int64_t>{60, 60, 24, 7}};
    std::vector<std::int64_t> intervals;
    for (std::int64_t granularity = 1; intervals.size() < 5; granularity = intervals.back())
        intervals.push_back(clock.intervalOf(intervals.size(), granularity));
    EXPECT_EQ(intervals, (std::vector<std::int64_t>{60, 3'600, 86'400, 604'800, 4'233'600}));
}

TEST(LevelGeometry, MultipliesIntervalsUpToTheWidest) {
    LevelGeometry const geometry{20};
    EXPECT_EQ(geometry.intervalOf(0, 1), 20);
    EXPECT_EQ(geometry.intervalOf(1, 20), 400);
    std::int64_t const almost = LevelGeometry::kWidest / 20;
    EXPECT_EQ(geometry.intervalOf(2, almost), almost * 20);
    EXPECT_EQ(geometry.intervalOf(2, almost + 1), (almost + 1) * 19) << "whole slots";
    EXPECT_EQ(geometry.intervalOf(3, LevelGeometry::kWidest), LevelGeometry::kWidest);
}

TEST(LevelGeometry, FindsTheCoarsestGranularityThatFits) {
    struct Case {
        std::int64_t ticks;
        std::int64_t granularity;
    };
    LevelGeometry const geometry{20};
    for (auto const& [ticks, granularity] :
         {Case{INT64_MIN, 1}, Case{-1, 1}, Case{0, 1}, Case{1, 1}, Case{19, 1}, Case{20, 20},
          Case{21, 20}, Case{399, 20}, Case{400, 400}, Case{7'999, 400}, Case{8'000, 8'000}})
        EXPECT_EQ(geometry.granularityWithin(ticks), granularity) << ticks;
}

TEST(LevelGeometry, FindsTheCoarsestOfLevelsThatDiffer) {
    LevelGeometry const clock{20, std::vector<std::int64_t>{60, 60, 24, 7}};
    EXPECT_EQ(clock.granularityWithin(59), 1);
    EXPECT_EQ(clock.granularityWithin(60), 60);
    EXPECT_EQ(clock.granularityWithin(3'599), 60);
    EXPECT_EQ(clock.granularityWithin(3'600), 3'600);
    EXPECT_EQ(clock.granularityWithin(86'399), 3'600);
    EXPECT_EQ(clock.granularityWithin(604'800), 604'800);
    EXPECT_GT(clock.granularityWithin(INT64_MAX), INT64_MAX / 7);
}

TEST(LevelGeometry, FindsItWithoutOverflow) {
    for (std::int64_t wheelSize : {2, 3, 20, 1'048'576}) {
        LevelGeometry const geometry{wheelSize};
        std::int64_t const granularity = geometry.granularityWithin(Tick::kMax);
        EXPECT_LE(granularity, Tick::kMax);
        EXPECT_GT(granularity, Tick::kMax / wheelSize);
        EXPECT_GT(geometry.granularityWithin(INT64_MAX), INT64_MAX / wheelSize);
    }
}

TEST(LevelGeometry, RefusesSizesOutOfRange) {
    for (std::int64_t wheelSize : {INT64_MIN, std::int64_t{1}, std::int64_t{1'048'577}, INT64_MAX})
        EXPECT_THROW(LevelGeometry{wheelSize}, std::invalid_argument) << wheelSize;
}

TEST(LevelGeometry, NamesTheLevelItsSizeAndTheBound) {
    auto const messageFor = [](std::vector<std::int64_t> const& sizes) -> std::string {
        try {
            LevelGeometry const geometry{20, sizes};
        } catch (std::invalid_argument const& error) {
            return error.what();
        }
        return "nothing was thrown";
    };
    EXPECT_EQ(messageFor({60, 60, 1}), "levelSizes[2] is 1: it must be at least 2");
    EXPECT_EQ(messageFor({INT64_MIN}),
              "levelSizes[0] is -9223372036854775808: it must be at least 2");
    EXPECT_EQ(messageFor({60, 1'048'577}), "levelSizes[1] is 1048577: it must be at most 1048576");
    EXPECT_EQ(messageFor(std::vector<std::int64_t>(61, 2)),
              "levelSizes is of 61 levels: it must be of at most 60");
    EXPECT_EQ(messageFor(std::vector<std::int64_t>(60, 2)), "nothing was thrown");
}

}  // namespace
}  // namespace timingwheel
