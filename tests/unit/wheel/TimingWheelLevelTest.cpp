#include <timingwheel/wheel/TimingWheelLevel.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>

namespace timingwheel {
namespace {

// Level 1 of a wheel with 20 slots, its clock at 47.
TimingWheelLevel secondLevel() {
    static constexpr std::int64_t kClock = 47;
    return {1, 20, 20, 400, 0, kClock};
}

TEST(TimingWheelLevel, SaysItsNumberGranularityAndInterval) {
    TimingWheelLevel const level = secondLevel();
    EXPECT_EQ(level.number(), 1U);
    EXPECT_EQ(level.granularity(), 20);
    EXPECT_EQ(level.interval(), 400);
}

TEST(TimingWheelLevel, RoundsItsClockDownToTheGranularity) {
    TimingWheelLevel level = secondLevel();
    EXPECT_EQ(level.clock(), 40);
    EXPECT_FALSE(level.moveClock(59));
    EXPECT_EQ(level.clock(), 40);
    EXPECT_TRUE(level.moveClock(60));
    EXPECT_EQ(level.clock(), 60);
    level.moveClock(20 * 20 * 1'000 + 79);  // many turns at once
    EXPECT_EQ(level.clock(), 20 * 20 * 1'000 + 60);
}

TEST(TimingWheelLevel, FollowsTheWheelsClockIfItIsTheFinest) {
    std::int64_t clock = 47;
    TimingWheelLevel level{0, 20, 1, 20, 0, clock};
    clock = 59;
    EXPECT_EQ(level.clock(), 59);
    EXPECT_EQ(level.limit(), 79);
    EXPECT_EQ(level.nextTurn(), 60);
    EXPECT_EQ(level.slotAfter(level.ticksTo(78)), 18U);
    EXPECT_EQ(level.startAfter(level.ticksTo(78)), 78);
    clock = 60;
    level.moveTurn(clock);
    EXPECT_EQ(level.nextTurn(), 80);
    clock = 1'234;
    level.moveTurn(clock);
    EXPECT_EQ(level.nextTurn(), 1'240);
}

TEST(TimingWheelLevel, EndsOneIntervalAfterItsOwnClock) {
    TimingWheelLevel level = secondLevel();
    EXPECT_EQ(level.limit(), 440);
    level.moveClock(399);
    EXPECT_EQ(level.limit(), 780);
}

TEST(TimingWheelLevel, FindsTheSlotOfATickAndWhereItStarts) {
    TimingWheelLevel level = secondLevel();
    std::uint64_t const slots = level.slotsTo(439);
    EXPECT_EQ(slots, 21U);
    EXPECT_EQ(level.nearSlotsTo(439), 21U);
    EXPECT_EQ(level.slotAfter(slots), 1U);
    EXPECT_EQ(level.startAfter(slots), 420);
    EXPECT_EQ(&level.bucket(1), &level.buckets()[1]);
}

TEST(TimingWheelLevel, CountsItsSlotsFromTheOrigin) {
    static constexpr std::int64_t kClock = -900;
    TimingWheelLevel const level{1, 20, 20, 400, -1'005, kClock};
    EXPECT_EQ(level.clock(), -905);
    EXPECT_EQ(level.nextTurn(), -605);
    EXPECT_EQ(level.slotAfter(level.slotsTo(-904)), 5U);
    EXPECT_EQ(level.startAfter(level.slotsTo(-904)), -905);
}

TEST(TimingWheelLevel, MakesItsLanesWhenTheyAreUsedForTheFirstTime) {
    TimingWheelLevel level = secondLevel();
    EXPECT_EQ(level.lanes(), nullptr);
    EXPECT_FALSE(level.buckets()[19].hasLanes());
    level.useLanes(true);
    for (TimerTaskList& bucket : level.buckets()) {
        ASSERT_TRUE(bucket.hasLanes());
        EXPECT_EQ(&level.lanes()[bucket.slot()].lists[0], &bucket.list(1));
        EXPECT_TRUE(level.holds(&bucket));
        EXPECT_TRUE(level.holds(&bucket.list(8)));
    }
    level.useLanes(false);
    EXPECT_EQ(level.lanes(), nullptr);
    EXPECT_TRUE(level.buckets()[0].hasLanes()) << "for the entries that are there";
    EXPECT_FALSE(level.holds(&level));
}

TEST(TimingWheelLevel, HasNoLanesIfItHasVeryManySlots) {
    static constexpr std::int64_t kClock = 0;
    std::uint32_t const size = TimingWheelLevel::kMostWithLanes + 1;
    TimingWheelLevel level{0, size, 1, size, 0, kClock};
    level.useLanes(true);
    EXPECT_EQ(level.lanes(), nullptr);
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
    TimingWheelLevel level{0, 65'536, 1, 65'536, 0, far};
    EXPECT_EQ(level.clock(), far);
    std::uint64_t const slots = level.ticksTo(far + 65'535);
    EXPECT_EQ(level.slotAfter(slots), 65'535U);
    EXPECT_EQ(level.startAfter(slots), far + 65'535);
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
                TimingWheelLevel level{
                    number, static_cast<std::uint32_t>(size), granularity, interval, 0, clock};
                if (number > 0) {
                    ASSERT_EQ(level.clock(), clock / granularity * granularity);
                }
                for (std::int64_t const position :
                     {level.clock(), level.clock() + 1, level.clock() + granularity - 1,
                      level.clock() + granularity, level.limit() - granularity - 1,
                      level.limit() - granularity, level.limit() - 1}) {
                    if (position < level.clock() || position >= level.limit()) continue;
                    std::uint64_t const slots = level.slotsTo(position);
                    ASSERT_EQ(level.slotAfter(slots), position / granularity % size)
                        << position << " on a level of " << size << " times " << granularity;
                    ASSERT_EQ(level.startAfter(slots), position / granularity * granularity);
                    if (!level.isNear()) continue;
                    ASSERT_EQ(level.nearSlotsTo(position), slots);
                }
            }
            granularity = interval;
        }
    }
}

}  // namespace
}  // namespace timingwheel
