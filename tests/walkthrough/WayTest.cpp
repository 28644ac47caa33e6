#include <gtest/gtest.h>

#include <apps/walkthrough/Example.h>
#include <apps/walkthrough/text/Ways.h>
#include <cstdint>
#include <vector>

namespace walkthrough {
namespace {

double comparisonsPerTask(Cost const& cost) {
    return static_cast<double>(cost.comparisons) / static_cast<double>(cost.tasks);
}

TEST(Ways, RunEveryTaskOnTimeThatIsNotCancelled) {
    std::vector<std::int64_t> const example{kExampleDelays.begin(), kExampleDelays.end()};
    for (Load const& load : {Load{example}, Load{spreadDelays(500, 3'000)},
                             Load{spreadDelays(500, 3'000), 10}, Load{{7, 7, 7}}, Load{{1}}})
        for (Cost const& cost : allWays(load)) {
            EXPECT_EQ(cost.onTime, cost.tasks - cost.cancelled) << cost.way;
            EXPECT_EQ(cost.tasks, load.delays.size()) << cost.way;
        }
    EXPECT_EQ(heap({spreadDelays(500, 3'000), 10}).cancelled, 450U);
}

TEST(SortedListWay, LooksFromTheEnd) {
    EXPECT_EQ(sortedList({{1, 2, 3}}).comparisons, 2);
    EXPECT_EQ(sortedList({{3, 2, 1}}).comparisons, 3);
    EXPECT_EQ(sortedList({{5, 5, 6}}).wakeUps, 2);
}

TEST(HeapWay, ComparesLogarithmically) {
    double const few = comparisonsPerTask(heap({spreadDelays(1'000, 100'000)}));
    double const many = comparisonsPerTask(heap({spreadDelays(8'000, 100'000)}));
    EXPECT_NEAR(many - few, 3, 0.5) << "eight times as many: three more";
}

TEST(HeapWay, KeepsWhatIsCancelledUntilItComesToTheTop) {
    Cost const cost = heap({{10, 20, 30, 40}, 2});
    EXPECT_EQ(cost.lookedAt, 2);
    EXPECT_EQ(cost.wakeUps, 2);
}

TEST(RingWay, TicksAndPassesOverWhatHasRounds) {
    Cost const cost = ringWithRounds({{3, 10}}, 8);
    EXPECT_EQ(cost.slots, 8U);
    EXPECT_EQ(cost.lookedAt, 1);
    EXPECT_EQ(cost.wakeUps, 10);
    EXPECT_EQ(ringWithRounds({{3, 10}}, 11).lookedAt, 0);
}

TEST(LevelsWay, MovesOnceAndWakesTwiceForTwentyFive) {
    Cost const cost = levels({{25}}, 20);
    EXPECT_EQ(cost.moves, 1);
    EXPECT_EQ(cost.wakeUps, 2);
    EXPECT_EQ(cost.slots, 40U);
    EXPECT_EQ(cost.comparisons, 3) << "the ends of levels 0 and 1, and of level 0 again";
    Cost const ticking = levelsThatTick({{25}}, 20);
    EXPECT_EQ(ticking.moves, 1);
    EXPECT_EQ(ticking.wakeUps, 25);
}

TEST(LevelsWay, ComparesLessTheMoreTasksThereAre) {
    double const few = comparisonsPerTask(levels({spreadDelays(1'000, 100'000)}, 20));
    double const many = comparisonsPerTask(levels({spreadDelays(8'000, 100'000)}, 20));
    EXPECT_LT(many, few);
}

TEST(WayDelays, AreTheSameEachTimeAndWithinTheirBounds) {
    auto const delays = spreadDelays(1'000, 50);
    EXPECT_EQ(delays, spreadDelays(1'000, 50));
    for (std::int64_t const delay : delays) {
        EXPECT_GE(delay, 1);
        EXPECT_LE(delay, 50);
    }
}

}  // namespace
}  // namespace walkthrough
