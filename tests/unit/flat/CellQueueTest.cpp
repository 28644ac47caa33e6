#include "core/flat/CellQueue.h"

#include <support/AllocationCounter.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// Shows G3.

namespace timingwheel::detail {
namespace {

using Added = CellQueue::Added;

/// An open queue, entries for it, and the numbers of those that were taken.
class CellQueueTest : public testing::Test {
protected:
    CellQueueTest() { queue_.open(); }

    void add(std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) ASSERT_EQ(queue_.add(entries_[i]), Added::yes);
    }
    auto collect() {
        return [this](TimerTaskEntry& entry) {
            taken_.push_back(static_cast<std::size_t>(&entry - entries_.data()));
            return true;
        };
    }
    std::size_t take(std::size_t atMost = SIZE_MAX) { return queue_.take(atMost, collect()); }
    void expectTaken(std::size_t count) {
        ASSERT_EQ(taken_.size(), count);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(taken_[i], i);
    }

    CellQueue queue_;
    std::vector<TimerTaskEntry> entries_{1'000};
    std::vector<std::size_t> taken_;
};

TEST_F(CellQueueTest, HandsOverInTheOrderOfArrivalHoweverManyComeBetween) {
    std::size_t from = 0;
    for (std::size_t const count : {1U, 0U, 63U, 1U, 200U, 0U, 300U, 64U, 65U}) {
        add(from, from + count);
        EXPECT_EQ(queue_.isEmpty(), count == 0);
        EXPECT_EQ(take(), 0U);
        EXPECT_TRUE(queue_.isTaken() && queue_.isEmpty());
        expectTaken(from += count);
    }
}

TEST_F(CellQueueTest, LeavesWhatIsTooMuchForTheNextTimeAndThenOldOnesFirst) {
    add(0, 100);
    EXPECT_EQ(take(30), 0U);
    expectTaken(30);
    EXPECT_FALSE(queue_.isTaken());
    add(100, 110);
    take(30);
    expectTaken(60);
    take(45);
    expectTaken(105);
    EXPECT_FALSE(queue_.isTaken());
    take(45);
    expectTaken(110);
    EXPECT_TRUE(queue_.isTaken() && queue_.isEmpty());
}

TEST_F(CellQueueTest, KeepsWhatItsVisitorDoesNotTakeAndWhatIsBehind) {
    add(0, 10);
    auto const untilFour = [this](TimerTaskEntry& entry) {
        return &entry != &entries_[4] && collect()(entry);
    };
    EXPECT_EQ(queue_.take(SIZE_MAX, untilFour), 0U);
    expectTaken(4);
    EXPECT_FALSE(queue_.isTaken());
    EXPECT_TRUE(CellQueue::takeBack(entries_[5]));
    EXPECT_FALSE(CellQueue::takeBack(entries_[3]));
    EXPECT_EQ(take(), 1U);
    EXPECT_EQ(taken_, (std::vector<std::size_t>{0, 1, 2, 3, 4, 6, 7, 8, 9}));
}

TEST_F(CellQueueTest, CountsWhatWasTakenBackOnce) {
    add(0, 200);
    for (std::size_t i = 0; i < 200; i += 2) EXPECT_TRUE(CellQueue::takeBack(entries_[i]));
    EXPECT_FALSE(CellQueue::takeBack(entries_[0]));
    EXPECT_EQ(take(), 100U);
    EXPECT_EQ(take(), 0U);
    EXPECT_EQ(taken_.size(), 100U);
    EXPECT_TRUE(std::all_of(taken_.begin(), taken_.end(), [](auto i) { return i % 2 == 1; }));
    EXPECT_FALSE(CellQueue::takeBack(entries_[1]));
}

TEST_F(CellQueueTest, RefusesAllOnceClosedAndHandsOverTheRest) {
    add(0, 100);
    take(10);
    add(100, 120);
    EXPECT_TRUE(CellQueue::takeBack(entries_[119]));
    queue_.close();
    EXPECT_EQ(queue_.add(entries_[500]), Added::closed);
    EXPECT_TRUE(queue_.isEmpty());
    EXPECT_EQ(queue_.takeRest(collect()), 1U);
    expectTaken(119);
    EXPECT_EQ(queue_.takeRest(collect()), 0U);
}

TEST_F(CellQueueTest, IsClosedUntilItIsOpened) {
    CellQueue other;
    EXPECT_EQ(other.add(entries_[0]), Added::closed);
    EXPECT_EQ(other.take(SIZE_MAX, collect()), 0U);
    other.close();
    EXPECT_EQ(other.takeRest(collect()), 0U);
    expectTaken(0);
}

// All that drew a cell there are refused until the worker has come; others are not concerned.
TEST_F(CellQueueTest, RefusesWhatItFindsNoMemoryForUntilItWasEmptied) {
    add(0, 64);
    {
        test::AllocationFailure const failure{1};
        EXPECT_EQ(queue_.add(entries_[999]), Added::noMemory);
        EXPECT_TRUE(failure.happened());
        EXPECT_EQ(queue_.add(entries_[999]), Added::noMemory);
    }
    EXPECT_EQ(take(), 0U);
    expectTaken(64);
    EXPECT_TRUE(queue_.isTaken() && queue_.isEmpty());
    for (std::size_t from = 64; from < 964; from += 300) {
        add(from, from + 300);
        take();
        expectTaken(from + 300);
    }
}

}  // namespace
}  // namespace timingwheel::detail
