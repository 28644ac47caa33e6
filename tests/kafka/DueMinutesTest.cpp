#include "components/kafka/daemon/DueMinutes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>

namespace timingwheel::test::kafka {
namespace {

using timingwheel::kafka::DueMinutes;

constexpr std::int64_t kMinute = 60'000;

TEST(DueMinutes, CountsAPartOfTheLastMinute) {
    DueMinutes minutes;
    for (int i = 0; i < 10; ++i) minutes.add(7 * kMinute + i);
    EXPECT_EQ(minutes.dueBy(7 * kMinute), 0U);
    EXPECT_EQ(minutes.dueBy(7 * kMinute + kMinute / 2), 5U);
    EXPECT_EQ(minutes.dueBy(8 * kMinute - 1), 9U);
    EXPECT_EQ(minutes.dueBy(8 * kMinute), 10U);
}

TEST(DueMinutes, CountsAllThatIsEarlier) {
    DueMinutes minutes;
    for (std::int64_t const minute : {-3, 0, 2, 100'000}) minutes.add(minute * kMinute + 1);
    EXPECT_EQ(minutes.dueBy(-3 * kMinute), 0U);
    EXPECT_EQ(minutes.dueBy(-2 * kMinute), 1U);
    EXPECT_EQ(minutes.dueBy(3 * kMinute), 3U);
    EXPECT_EQ(minutes.dueBy(100'001 * kMinute), 4U);
}

TEST(DueMinutes, HasTheEndOfTheLastMinuteThatHasATimer) {
    DueMinutes minutes;
    EXPECT_EQ(minutes.farthest(), std::nullopt);
    minutes.add(-1);
    EXPECT_EQ(minutes.farthest(), 0);
    minutes.add(5 * kMinute);
    minutes.add(5 * kMinute + 1);
    minutes.remove(5 * kMinute);
    EXPECT_EQ(minutes.farthest(), 6 * kMinute);
    minutes.remove(5 * kMinute + 1);
    EXPECT_EQ(minutes.farthest(), 0);
}

// As a stranger may have written it into the state.
TEST(DueMinutes, HasTheEndOfTimeForATimerInItsLastMinute) {
    constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();
    DueMinutes minutes;
    minutes.add(kLatest);
    EXPECT_EQ(minutes.farthest(), kLatest);
    EXPECT_EQ(minutes.dueBy(kLatest - kMinute), 0U);
    minutes.remove(kLatest);
    minutes.add(kLatest - kMinute);
    EXPECT_EQ(minutes.farthest(), kLatest / kMinute * kMinute);
}

TEST(DueMinutes, TakesMemoryForMinutesNotForTimers) {
    DueMinutes minutes;
    for (int i = 0; i < 1'000; ++i) minutes.add(i);
    std::size_t const one = minutes.bytes();
    EXPECT_GT(one, 0U);
    for (int i = 1; i < 10; ++i) minutes.add(i * kMinute);
    EXPECT_EQ(minutes.bytes(), 10 * one);
    for (int i = 1; i < 10; ++i) minutes.remove(i * kMinute);
    EXPECT_EQ(minutes.bytes(), one);
    for (int i = 0; i < 1'000; ++i) minutes.remove(i);
    EXPECT_EQ(minutes.bytes(), 0U);
}

}  // namespace
}  // namespace timingwheel::test::kafka
