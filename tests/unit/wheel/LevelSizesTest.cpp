#include "Lease.h"

#include <timingwheel/wheel/TimingWheel.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// A wheel whose levels have different sizes.

namespace timingwheel {
namespace {

using test::advanceTo;
using test::HandedOver;
using test::Lease;
using test::runAll;
using test::where;

using All = std::vector<HandedOver>;

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

/// Levels as in a clock, in seconds.
TimingWheelOptions clockFrom(Tick start) { return {.levelSizes = {60, 60, 24, 7}, .start = start}; }

TEST(LevelSizes, AreTheLevelsOfAClock) {
    Lease lease;
    TimingWheel<Lease> wheel{clockFrom(Tick{0})};
    wheel.add(lease, Tick{52 * 7 * kDay});
    struct Level {
        std::int64_t granularity;
        std::size_t buckets;
    };
    std::vector<Level> const expected{{1, 60},       {kMinute, 60},  {kHour, 24},    {kDay, 7},
                                      {7 * kDay, 7}, {49 * kDay, 7}, {343 * kDay, 7}};
    ASSERT_EQ(wheel.levels().size(), expected.size());
    for (TimingWheelLevel const& level : wheel.levels()) {
        EXPECT_EQ(level.granularity(), expected[level.number()].granularity);
        EXPECT_EQ(level.buckets().size(), expected[level.number()].buckets);
    }
}

// The story of the walkthrough's second part.
TEST(LevelSizes, MoveAnEntryFromHoursToMinutesToSeconds) {
    Lease lease{1};
    TimingWheel<Lease> wheel{clockFrom(Tick{0})};
    std::int64_t const deadline = 5 * kHour + 42 * kMinute + 17;
    EXPECT_EQ(where(wheel.add(lease, Tick{deadline})), "2:5@18000");
    EXPECT_TRUE(advanceTo(wheel, Tick{5 * kHour}).empty());
    EXPECT_EQ(wheel.nextExpiration(), Tick{5 * kHour + 42 * kMinute}) << "slot 42 of the minutes";
    EXPECT_TRUE(advanceTo(wheel, Tick{5 * kHour + 42 * kMinute}).empty());
    EXPECT_EQ(wheel.nextExpiration(), Tick{deadline}) << "slot 17 of the seconds";
    EXPECT_EQ(advanceTo(wheel, Tick{deadline}), (All{{1, deadline}}));
}

// Slots are counted from tick 0. If that was a midnight, a slot's number is what a clock shows.
TEST(LevelSizes, ShowWhatAClockShows) {
    Lease lease;
    std::int64_t const now = 9 * kHour + 15 * kMinute + 40;
    TimingWheel<Lease> wheel{clockFrom(Tick{now})};
    EXPECT_EQ(where(wheel.reschedule(lease, Tick{9 * kHour + 15 * kMinute + 59})), "0:59@33359");
    EXPECT_EQ(where(wheel.reschedule(lease, Tick{9 * kHour + 16 * kMinute + 5})), "0:5@33365");
    EXPECT_EQ(where(wheel.reschedule(lease, Tick{9 * kHour + 30 * kMinute})), "1:30@34200");
    EXPECT_EQ(where(wheel.reschedule(lease, Tick{18 * kHour})), "2:18@64800");
    EXPECT_EQ(where(wheel.reschedule(lease, Tick{6 * kDay})), "3:6@518400");
}

// Bug pattern: a size of another level is used where the levels' widths are multiplied.
TEST(LevelSizes, HandOverEachDeadlineOnItsTick) {
    std::vector<std::vector<std::int64_t>> const shapes{
        {60, 60, 24, 7}, {2, 3, 5, 7}, {7, 5, 3, 2}, {64, 2}, {2, 64, 3}, {1'000, 2, 1'000}};
    for (std::vector<std::int64_t> const& sizes : shapes) {
        for (Tick const start :
             {Tick{0}, Tick{-5}, Tick{12'345}, Tick{(std::int64_t{1} << 40) - 3}}) {
            std::vector<std::int64_t> delays{1, 2};
            std::int64_t width = 1;
            for (std::size_t level = 0; level < 5; ++level) {
                width *= sizes[std::min(level, sizes.size() - 1)];
                for (std::int64_t const nudge : {-1, 0, 1}) delays.push_back(width + nudge);
                delays.push_back(2 * width + 1);
            }
            std::vector<Lease> leases(delays.size());
            TimingWheel<Lease> wheel{{.levelSizes = sizes, .start = start}};
            for (std::size_t i = 0; i < delays.size(); ++i) {
                leases[i].id = static_cast<int>(i);
                wheel.add(leases[i], start + delays[i]);
                wheel.checkInvariants();
            }
            std::size_t handedOver = 0;
            while (!wheel.empty()) {
                for (HandedOver const& each : advanceTo(wheel, *wheel.nextExpiration())) {
                    EXPECT_EQ(each.at, (start + delays[static_cast<std::size_t>(each.id)]).value());
                    ++handedOver;
                }
                wheel.checkInvariants();
            }
            EXPECT_EQ(handedOver, delays.size());
        }
    }
}

TEST(LevelSizes, ReachTheFarthestDeadline) {
    for (std::vector<std::int64_t> const& sizes :
         {std::vector<std::int64_t>{60, 60, 24, 7}, std::vector<std::int64_t>{1'048'576, 2},
          std::vector<std::int64_t>(60, 2), std::vector<std::int64_t>{2, 1'048'576}}) {
        Lease lease{1};
        TimingWheel<Lease> wheel{{.levelSizes = sizes, .start = Tick::min()}};
        wheel.add(lease, Tick::max());
        wheel.checkInvariants();
        EXPECT_LE(wheel.levels().size(), LevelGeometry::kMaxLevels);
        EXPECT_EQ(runAll(wheel), (All{{1, Tick::kMax}}));
    }
}

TEST(LevelSizes, TakeThePlaceOfTheWheelSize) {
    TimingWheel<Lease> const wheel{{.wheelSize = 1, .levelSizes = {60, 2}}};
    EXPECT_EQ(wheel.levels().front().buckets().size(), 60U);
    TimingWheel<Lease> even{{.wheelSize = 20, .levelSizes = {}}};
    EXPECT_EQ(even.levels().front().size(), 20U);
}

}  // namespace
}  // namespace timingwheel
