#include <timingwheel/wheel/LevelGeometry.h>
#include <timingwheel/wheel/TimingWheelLevel.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>

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
    EXPECT_EQ(level.ring().slotAt(level.ring().ticksBehind(78)), 18U);
    EXPECT_EQ(level.ring().startAt(level.ring().ticksBehind(78)), 78);
    clock = 60;
    level.moveTurn(clock);
    EXPECT_EQ(level.nextTurn(), 80);
    clock = 1'234;
    level.moveTurn(clock);
    EXPECT_EQ(level.nextTurn(), 1'240);
    EXPECT_EQ(level.ring().slotAt(level.ring().ticksBehind(1'253)), 13U);
}

TEST(TimingWheelLevel, EndsOneIntervalAfterItsOwnClock) {
    TimingWheelLevel level = secondLevel();
    EXPECT_EQ(level.limit(), 440);
    level.moveClock(399);
    EXPECT_EQ(level.limit(), 780);
}

TEST(TimingWheelLevel, FindsTheSlotOfATickAndWhereItStarts) {
    TimingWheelLevel level = secondLevel();
    detail::BucketRing const& ring = level.ring();
    EXPECT_EQ(ring.last(), 439);
    EXPECT_EQ(ring.slotsBehind(439), 0U);
    EXPECT_EQ(ring.slotsBehind(60), 18U);
    EXPECT_EQ(ring.nearSlotsBehind(60), 18U);
    EXPECT_EQ(ring.slotAt(0), 1U);
    EXPECT_EQ(ring.startAt(0), 420);
    EXPECT_EQ(ring.slotAt(18), 3U);
    EXPECT_EQ(ring.startAt(18), 60);
    EXPECT_EQ(&level.bucket(1), &level.buckets()[1]);
}

TEST(TimingWheelLevel, CountsItsSlotsFromTheOrigin) {
    static constexpr std::int64_t kClock = -900;
    TimingWheelLevel const level{1, 20, 20, 400, -1'005, kClock};
    EXPECT_EQ(level.clock(), -905);
    EXPECT_EQ(level.ring().slotAt(level.ring().slotsBehind(-884)), 6U);
    EXPECT_EQ(level.ring().startAt(level.ring().slotsBehind(-884)), -885);
}

TEST(TimingWheelLevel, MakesItsLanesWhenTheyAreUsedForTheFirstTime) {
    TimingWheelLevel level = secondLevel();
    EXPECT_FALSE(level.usesLanes());
    EXPECT_FALSE(level.buckets()[19].hasLanes());
    std::set<TimerTaskList::List const*> lists;
    level.open(3);
    EXPECT_TRUE(level.usesLanes());
    EXPECT_EQ(level.size(), 20U);
    for (TimerTaskList& bucket : level.buckets()) {
        ASSERT_TRUE(bucket.hasLanes());
        EXPECT_EQ(&level.ring().openList(bucket.slot()), &bucket.list(3));
        EXPECT_TRUE(level.holds(&bucket));
        for (unsigned list = 0; list < bucket.lists(); ++list) {
            EXPECT_TRUE(level.holds(&bucket.list(list)));
            EXPECT_TRUE(lists.insert(&bucket.list(list)).second);
        }
    }
    level.open(0);
    EXPECT_FALSE(level.usesLanes());
    EXPECT_EQ(&level.ring().openList(7), &level.bucket(7).list(0));
    EXPECT_TRUE(level.buckets()[0].hasLanes()) << "for the entries that are there";
    EXPECT_FALSE(level.holds(&level));
}

TEST(TimingWheelLevel, HasNoLanesIfItHasVeryManySlots) {
    static constexpr std::int64_t kClock = 0;
    std::uint32_t const size = TimingWheelLevel::kMostWithLanes + 1;
    TimingWheelLevel level{0, size, 1, size, 0, kClock};
    level.open(1);
    EXPECT_FALSE(level.usesLanes());
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
    std::uint64_t const behind = level.ring().ticksBehind(far + 65'535);
    EXPECT_EQ(level.ring().slotAt(behind), 65'535U);
    EXPECT_EQ(level.ring().startAt(behind), far + 65'535);
}

// The reciprocals and the comparison in place of a modulo, against the plain arithmetic.
TEST(TimingWheelLevel, FindsTheSlotByDivisionAndModuloOverTheWholeRangeOfPositions) {
    constexpr std::int64_t kTicks = std::int64_t{1} << 60;
    std::mt19937_64 random{3};
    int near = 0;
    for (std::int64_t size : {2, 3, 7, 20, 64, 400, 512, 1'000, 1'048'576}) {
        LevelGeometry const geometry{size};
        std::uint32_t number = 0;
        for (std::int64_t granularity = 1; granularity < kTicks; ++number) {
            std::int64_t const interval = geometry.intervalOf(number, granularity);
            std::int64_t clock = 0;
            TimingWheelLevel level{
                number, static_cast<std::uint32_t>(size), granularity, interval, 0, clock};
            detail::BucketRing const& ring = level.ring();
            for (std::int64_t const next :
                 {std::int64_t{0}, granularity - 1, granularity,
                  static_cast<std::int64_t>(random() >> 4U), kTicks - 1}) {
                clock = next;
                level.restart(0);
                if (number > 0) {
                    ASSERT_EQ(level.clock(), clock / granularity * granularity);
                }
                for (std::int64_t const position :
                     {level.clock() + granularity, level.clock() + 2 * granularity - 1,
                      level.limit() - granularity - 1, level.limit() - granularity,
                      level.limit() - 1}) {
                    if (position < level.clock() || position >= level.limit()) continue;
                    std::uint64_t const behind = ring.slotsBehind(position);
                    ASSERT_EQ(ring.slotAt(behind), position / granularity % size)
                        << position << " on a level of " << size << " times " << granularity;
                    ASSERT_EQ(ring.startAt(behind), position / granularity * granularity);
                    if (number == 0) {
                        ASSERT_EQ(ring.ticksBehind(position), behind);
                    }
                    if (!ring.isNear()) continue;
                    ++near;
                    ASSERT_EQ(ring.nearSlotsBehind(position), behind);
                }
            }
            granularity = interval;
        }
    }
    EXPECT_GT(near, 1'000);
}

// However far a level's clock moves at once, it is where a new level's would be.
TEST(TimingWheelLevel, MovesAsIfItWereNew) {
    std::mt19937_64 random{4};
    for (std::uint32_t const size : {2U, 20U, 64U}) {
        for (std::uint32_t const number : {0U, 1U, 2U}) {
            std::int64_t const granularity = number == 0 ? 1 : number == 1 ? size : size * size;
            std::int64_t clock = 0;
            TimingWheelLevel level{number, size, granularity, granularity * size, 0, clock};
            for (int i = 0; i < 1'000; ++i) {
                clock += static_cast<std::int64_t>(random() >> (random() % 24 + 40U));
                if (number > 0)
                    level.moveClock(clock);
                else if (clock >= level.nextTurn())
                    level.moveTurn(clock);
                TimingWheelLevel const expected{number, size, granularity, granularity * size,
                                                0,      clock};
                ASSERT_EQ(level.clock(), expected.clock());
                ASSERT_EQ(level.ring().last(), expected.ring().last());
                ASSERT_EQ(level.ring().slotAt(0), expected.ring().slotAt(0));
            }
        }
    }
}

}  // namespace
}  // namespace timingwheel
