#include <timingwheel/wheel/TimingWheelLevel.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>

namespace timingwheel {
namespace {

// Level 1 of a wheel with 20 slots, its clock at 47.
TimingWheelLevel secondLevel() { return {1, 20, 20, 400, 47}; }

TEST(TimingWheelLevel, SaysItsNumberGranularityAndInterval) {
    TimingWheelLevel const level = secondLevel();
    EXPECT_EQ(level.number(), 1U);
    EXPECT_EQ(level.granularity(), 20);
    EXPECT_EQ(level.interval(), 400);
}

TEST(TimingWheelLevel, RoundsItsClockDownToTheGranularity) {
    TimingWheelLevel level = secondLevel();
    EXPECT_EQ(level.clock(), 40);
    level.moveClock(59);
    EXPECT_EQ(level.clock(), 40);
    level.moveClock(60);
    EXPECT_EQ(level.clock(), 60);
    level.moveClock(20 * 20 * 1'000 + 79);  // many turns at once
    EXPECT_EQ(level.clock(), 20 * 20 * 1'000 + 60);
}

TEST(TimingWheelLevel, EndsOneIntervalAfterItsOwnClock) {
    TimingWheelLevel level = secondLevel();
    EXPECT_EQ(level.limit(), 440);
    level.moveClock(399);
    EXPECT_EQ(level.limit(), 780);
}

TEST(TimingWheelLevel, RoundsDownToTheStartOfASlot) {
    TimingWheelLevel const level = secondLevel();
    EXPECT_EQ(level.startOfSlot(0), 0);
    EXPECT_EQ(level.startOfSlot(19), 0);
    EXPECT_EQ(level.startOfSlot(20), 20);
    EXPECT_EQ(level.startOfSlot(439), 420);
}

TEST(TimingWheelLevel, FindsTheSlotOfAPositionAndWhereItStarts) {
    TimingWheelLevel level = secondLevel();
    auto const [bucket, start] = level.slotOf(439);
    EXPECT_EQ(start, 420);
    EXPECT_EQ(bucket.slot(), 1U);  // 21 mod 20
    EXPECT_EQ(&bucket, &level.buckets()[1]);
}

TEST(TimingWheelLevel, TellsEveryBucketWhereItStands) {
    TimingWheelLevel const level = secondLevel();
    ASSERT_EQ(level.buckets().size(), 20U);
    for (std::size_t slot = 0; slot < 20; ++slot) {
        EXPECT_EQ(level.buckets()[slot].level(), 1U);
        EXPECT_EQ(level.buckets()[slot].slot(), slot);
    }
}

// Bug pattern: a difference of ticks is narrowed to int.
TEST(TimingWheelLevel, CountsPositionsBeyondThirtyTwoBits) {
    std::int64_t const far = std::int64_t{1} << 60;
    TimingWheelLevel level{0, 65'536, 1, 65'536, far};
    EXPECT_EQ(level.clock(), far);
    auto const [bucket, start] = level.slotOf(far + 65'535);
    EXPECT_EQ(bucket.slot(), 65'535U);
    EXPECT_EQ(start, far + 65'535);
}

// The reciprocals and the comparison in place of a modulo, against the plain arithmetic.
TEST(TimingWheelLevel, FindsTheSlotByDivisionAndModuloOverTheWholeRangeOfPositions) {
    constexpr std::int64_t kWidest = std::int64_t{1} << 61;
    std::mt19937_64 random{3};
    for (std::int64_t size : {2, 3, 7, 20, 64, 400, 512, 1'000}) {
        std::uint32_t number = 0;
        for (std::int64_t granularity = 1; granularity < kWidest / 2; ++number) {
            std::int64_t const interval =
                granularity > kWidest / size ? kWidest : granularity * size;
            for (std::int64_t const clock :
                 {std::int64_t{0}, granularity - 1, granularity, (std::int64_t{1} << 60) - 1,
                  static_cast<std::int64_t>(random() >> 4U)}) {
                TimingWheelLevel level{number, static_cast<std::uint32_t>(size), granularity,
                                       interval, clock};
                ASSERT_EQ(level.clock(), clock / granularity * granularity);
                for (std::int64_t const position :
                     {level.clock(), level.clock() + 1, level.clock() + granularity - 1,
                      level.clock() + granularity, level.limit() - granularity - 1,
                      level.limit() - granularity, level.limit() - 1}) {
                    if (position < level.clock() || position >= level.limit()) continue;
                    auto const [bucket, start] = level.slotOf(position);
                    ASSERT_EQ(bucket.slot(), position / granularity % size)
                        << position << " on a level of " << size << " times " << granularity;
                    ASSERT_EQ(start, position / granularity * granularity);
                    ASSERT_EQ(level.startOfSlot(position), start);
                }
            }
            granularity = interval;
        }
    }
}

}  // namespace
}  // namespace timingwheel
