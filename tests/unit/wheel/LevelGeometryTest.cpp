#include <timingwheel/Tick.h>
#include <timingwheel/wheel/LevelGeometry.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

namespace timingwheel {
namespace {

TEST(LevelGeometry, GivesEveryLevelTheSameSize) {
    LevelGeometry const geometry{20};
    EXPECT_EQ(geometry.sizeOf(0), 20U);
    EXPECT_EQ(geometry.sizeOf(13), 20U);
}

TEST(LevelGeometry, MultipliesIntervalsUpToTheWidest) {
    LevelGeometry const geometry{20};
    EXPECT_EQ(geometry.intervalOf(0, 1), 20);
    EXPECT_EQ(geometry.intervalOf(1, 20), 400);
    std::int64_t const almost = LevelGeometry::kWidest / 20;
    EXPECT_EQ(geometry.intervalOf(2, almost), almost * 20);
    EXPECT_EQ(geometry.intervalOf(2, almost + 1), LevelGeometry::kWidest);
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

}  // namespace
}  // namespace timingwheel
