#include "Lease.h"

#include <timingwheel/wheel/TimerTaskList.h>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace timingwheel {
namespace {

using test::Lease;

class TimerTaskListTest : public testing::Test {
protected:
    std::vector<int> idsOf(TimerTaskList const& list) const {
        std::vector<int> ids;
        for (TimerTaskEntry const& entry : list.entries())
            ids.push_back(static_cast<Lease const&>(entry).id);
        return ids;
    }

    void addAll() {
        for (Lease& lease : leases_) bucket_.add(lease);
    }

    std::array<Lease, 4> leases_{Lease{0}, Lease{1}, Lease{2}, Lease{3}};
    TimerTaskList bucket_;  // lets go of the leases before they die
};

TEST_F(TimerTaskListTest, IsOneCacheLine) {
    EXPECT_EQ(sizeof(TimerTaskList), 64U);
    EXPECT_EQ(alignof(TimerTaskList), 64U);
}

TEST_F(TimerTaskListTest, BeginsUnarmedAtTheFirstSlotOfTheFinestLevel) {
    EXPECT_FALSE(bucket_.isArmed());
    EXPECT_EQ(bucket_.level(), 0U);
    EXPECT_EQ(bucket_.slot(), 0U);
}

TEST_F(TimerTaskListTest, KeepsEntriesInTheOrderInWhichTheyCame) {
    addAll();
    EXPECT_EQ(idsOf(bucket_), (std::vector{0, 1, 2, 3}));
}

TEST_F(TimerTaskListTest, TakesTheFirstEntryOut) {
    addAll();
    EXPECT_EQ(&bucket_.takeFirst(), &leases_[0]);
    EXPECT_FALSE(leases_[0].isQueued());
    EXPECT_EQ(idsOf(bucket_), (std::vector{1, 2, 3}));
}

TEST_F(TimerTaskListTest, TakesTheLastEntryOut) {
    addAll();
    EXPECT_EQ(&bucket_.takeLast(), &leases_[3]);
    EXPECT_FALSE(leases_[3].isQueued());
    EXPECT_EQ(idsOf(bucket_), (std::vector{0, 1, 2}));
}

TEST_F(TimerTaskListTest, RemovesAnEntryFromAnyPositionWithoutBeingAsked) {
    addAll();
    for (std::size_t i : {1U, 3U, 0U, 2U}) {
        TimerTaskList::remove(leases_[i]);
        EXPECT_FALSE(leases_[i].isQueued());
    }
    EXPECT_TRUE(bucket_.empty());
}

TEST_F(TimerTaskListTest, TakesAnEntryAgainThatWasRemoved) {
    addAll();
    TimerTaskList::remove(leases_[1]);
    bucket_.add(leases_[1]);
    EXPECT_EQ(idsOf(bucket_), (std::vector{0, 2, 3, 1}));
}

TEST_F(TimerTaskListTest, TakesAllEntriesOfAnotherBehindItsOwn) {
    TimerTaskList other;
    bucket_.add(leases_[3]);
    other.add(leases_[1]);
    other.add(leases_[0]);
    bucket_.takeAll(other);
    EXPECT_EQ(idsOf(bucket_), (std::vector{3, 1, 0}));
    EXPECT_TRUE(other.empty());
}

TEST_F(TimerTaskListTest, ShowsTheEntriesOfAllLanesOneLaneAfterTheOther) {
    bucket_.add(leases_[0], 2);
    EXPECT_TRUE(bucket_.usesLanes());
    EXPECT_EQ(idsOf(bucket_), (std::vector{0}));
    bucket_.add(leases_[1], 1);
    bucket_.add(leases_[2], 2);
    bucket_.add(leases_[3], 0);
    EXPECT_EQ(idsOf(bucket_), (std::vector{3, 1, 0, 2}));
    EXPECT_EQ(bucket_.entries().size(), 4U);
    EXPECT_EQ(&bucket_.entries().front(), &leases_[3]);
    EXPECT_EQ(&bucket_.entries().back(), &leases_[2]);
    EXPECT_EQ(&*bucket_.lane(1).begin(), &leases_[1]);
}

TEST_F(TimerTaskListTest, ShowsNothingWhenEmpty) {
    EXPECT_TRUE(bucket_.entries().empty());
    EXPECT_EQ(bucket_.entries().begin(), bucket_.entries().end());
    EXPECT_EQ(bucket_.entries().size(), 0U);
    EXPECT_FALSE(bucket_.usesLanes());
}

TEST_F(TimerTaskListTest, IsEmptyOnlyWhenAllLanesAre) {
    for (unsigned lane = 0; lane < TimerTaskList::kLanes; ++lane) {
        bucket_.add(leases_[0], lane);
        EXPECT_FALSE(bucket_.empty());
        EXPECT_EQ(bucket_.usesLanes(), lane > 0);
        EXPECT_EQ(&bucket_.takeFirst(), &leases_[0]);
        bucket_.add(leases_[0], lane);
        EXPECT_EQ(&bucket_.takeLast(), &leases_[0]);
        EXPECT_TRUE(bucket_.empty());
    }
}

TEST_F(TimerTaskListTest, TakesFromTheFirstLaneFirstAndFromTheLastLaneLast) {
    bucket_.add(leases_[0], 1);
    bucket_.add(leases_[1], 2);
    bucket_.add(leases_[2], 1);
    bucket_.add(leases_[3], 2);
    EXPECT_EQ(&bucket_.takeFirst(), &leases_[0]);
    EXPECT_EQ(&bucket_.takeLast(), &leases_[3]);
    EXPECT_EQ(&bucket_.takeLast(), &leases_[1]);
    EXPECT_EQ(&bucket_.takeFirst(), &leases_[2]);
    EXPECT_TRUE(bucket_.empty());
}

TEST_F(TimerTaskListTest, TakesAllEntriesOfAnotherLaneByLane) {
    TimerTaskList other;
    bucket_.add(leases_[0], 1);
    other.add(leases_[1], 1);
    other.add(leases_[2], 2);
    other.add(leases_[3], 0);
    bucket_.takeAll(other);
    EXPECT_EQ(idsOf(bucket_), (std::vector{3, 0, 1, 2}));
    EXPECT_TRUE(other.empty());
}

TEST_F(TimerTaskListTest, IsUnarmedAtFirst) {
    EXPECT_FALSE(bucket_.isArmed());
    EXPECT_EQ(bucket_.expiration(), TimerTaskList::kUnarmed);
}

TEST_F(TimerTaskListTest, IsArmedFromItsStampOnUntilItIsDisarmed) {
    for (std::int64_t expiration : {20, 0}) {
        bucket_.arm(expiration);
        EXPECT_TRUE(bucket_.isArmed());
        EXPECT_EQ(bucket_.expiration(), expiration);
        bucket_.disarm();
        EXPECT_FALSE(bucket_.isArmed());
    }
}

TEST_F(TimerTaskListTest, DoesNotDisarmItselfWhenItRunsEmpty) {
    bucket_.arm(20);
    bucket_.add(leases_[0]);
    bucket_.takeFirst();
    EXPECT_TRUE(bucket_.isArmed());
}

TEST_F(TimerTaskListTest, KnowsWhereItStands) {
    bucket_.standAt(3, 15);
    EXPECT_EQ(bucket_.level(), 3U);
    EXPECT_EQ(bucket_.slot(), 15U);
}

TEST_F(TimerTaskListTest, LetsGoOfItsEntriesWhenItDies) {
    {
        TimerTaskList shortLived;
        shortLived.add(leases_[0]);
        shortLived.add(leases_[1]);
    }
    EXPECT_FALSE(leases_[0].isQueued());
    EXPECT_FALSE(leases_[1].isQueued());
}

}  // namespace
}  // namespace timingwheel
