#include "apps/demo/Occupancy.h"

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace demo {
namespace {

using namespace std::chrono_literals;
using timingwheel::Tick;
using timingwheel::Timeout;
using timingwheel::TimerEvent;
using Bucket = Occupancy::Bucket;
using Stage = TimerEvent::Stage;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A timer of ten slots to a level, watched.
class OccupancyOfATimer : public ::testing::Test {
protected:
    Occupancy occupancy{1ms};
    timingwheel::ManualClock clock;
    timingwheel::Clock::TimePoint start = clock.now();
    timingwheel::ManualTimer timer{
        {.tick = 1ms, .wheelSize = 10, .clock = clock, .observer = &occupancy}};
};

TEST_F(OccupancyOfATimer, CountsTheTimeoutsOfEachBucketTheEarliestFirst) {
    timer.newTimeout([] {}, 25ms);
    timer.newTimeout([] {}, 3ms);
    timer.newTimeout([] {}, 21ms);
    EXPECT_THAT(occupancy.snapshot().buckets,
                ElementsAre(Bucket{Tick{3}, 0, 3, 1}, Bucket{Tick{20}, 1, 2, 2}));
    EXPECT_FALSE(occupancy.snapshot().start);
}

TEST_F(OccupancyOfATimer, FollowsACascadeAndForgetsWhatHasExpired) {
    timer.newTimeout([] {}, 25ms);
    timer.newTimeout([] {}, 20ms);
    clock.advance(20ms);
    EXPECT_THAT(occupancy.snapshot().buckets, ElementsAre(Bucket{Tick{25}, 0, 5, 1}));
    EXPECT_EQ(occupancy.snapshot().start, start);
    clock.advance(5ms);
    EXPECT_THAT(occupancy.snapshot().buckets, IsEmpty());
}

TEST_F(OccupancyOfATimer, KeepsABucketWhoseTimeoutsWereAllCancelled) {
    Timeout const timeout = timer.newTimeout([] {}, 3ms);
    EXPECT_TRUE(timeout.cancel());
    EXPECT_THAT(occupancy.snapshot().buckets, ElementsAre(Bucket{Tick{3}, 0, 3, 0}));
    clock.advance(3ms);
    timer.newTimeout([] {}, 1ms);
    EXPECT_THAT(occupancy.snapshot().buckets, ElementsAre(Bucket{Tick{4}, 0, 4, 1}));
}

TEST_F(OccupancyOfATimer, LeavesATimeoutThatIsPushedBackInItsBucketUntilThatExpires) {
    Timeout const timeout = timer.newTimeout([] {}, 3ms);
    EXPECT_TRUE(timer.reschedule(timeout, 7ms));
    EXPECT_THAT(occupancy.snapshot().buckets, ElementsAre(Bucket{Tick{3}, 0, 3, 1}));
    clock.advance(3ms);
    EXPECT_THAT(occupancy.snapshot().buckets, ElementsAre(Bucket{Tick{7}, 0, 7, 1}));
}

TEST_F(OccupancyOfATimer, MovesATimeoutThatIsRescheduledToAnEarlierTime) {
    Timeout const timeout = timer.newTimeout([] {}, 8ms);
    EXPECT_TRUE(timer.reschedule(timeout, 2ms));
    EXPECT_THAT(occupancy.snapshot().buckets,
                ElementsAre(Bucket{Tick{2}, 0, 2, 1}, Bucket{Tick{8}, 0, 8, 0}));
}

class OccupancyOfEvents : public ::testing::Test {
protected:
    static TimerEvent placed(std::uint32_t shard, Tick expiration, void const* entry) {
        TimerEvent event{.stage = Stage::place, .shard = shard, .entry = entry};
        event.slot = static_cast<std::uint32_t>(expiration.value() % 10);
        event.expiration = expiration;
        return event;
    }
    static TimerEvent woken(std::uint32_t shard, Tick expiration) {
        TimerEvent event{.stage = Stage::wake, .shard = shard};
        event.expiration = expiration;
        event.time = TimePoint{1s} + 1ms * expiration.value();
        return event;
    }

    Occupancy occupancy{1ms};
    int one = 0;
    int two = 0;
};

TEST_F(OccupancyOfEvents, AddsTheShardsUpAndWakesEachForItself) {
    occupancy.onEvent(placed(0, Tick{3}, &one));
    occupancy.onEvent(placed(7, Tick{3}, &two));
    EXPECT_THAT(occupancy.snapshot().buckets, ElementsAre(Bucket{Tick{3}, 0, 3, 2}));
    occupancy.onEvent(woken(7, Tick{3}));
    EXPECT_THAT(occupancy.snapshot().buckets, ElementsAre(Bucket{Tick{3}, 0, 3, 1}));
    EXPECT_EQ(occupancy.snapshot().start, TimePoint{1s});
}

TEST_F(OccupancyOfEvents, IgnoresAPlaceThatIsDeliveredAfterTheBucketsWake) {
    occupancy.onEvent(woken(0, Tick{3}));
    occupancy.onEvent(placed(0, Tick{3}, &one));
    EXPECT_THAT(occupancy.snapshot().buckets, IsEmpty());
}

TEST_F(OccupancyOfEvents, IgnoresAPlaceThatIsDeliveredAfterALaterOne) {
    TimerEvent event = placed(0, Tick{30}, &one);
    event.number = 9;
    occupancy.onEvent(event);
    occupancy.onEvent(placed(0, Tick{50}, &one));
    EXPECT_THAT(occupancy.snapshot().buckets, ElementsAre(Bucket{Tick{30}, 0, 0, 1}));
}

TEST_F(OccupancyOfEvents, IgnoresAPlaceThatIsDeliveredAfterTheCancel) {
    TimerEvent event{.stage = Stage::cancel, .number = 5, .entry = &one};
    occupancy.onEvent(event);
    event = placed(0, Tick{30}, &one);
    event.number = 4;
    occupancy.onEvent(event);
    EXPECT_THAT(occupancy.snapshot().buckets, IsEmpty());
    event.number = 7;
    occupancy.onEvent(event);
    EXPECT_THAT(occupancy.snapshot().buckets, ElementsAre(Bucket{Tick{30}, 0, 0, 1}));
}

}  // namespace
}  // namespace demo
