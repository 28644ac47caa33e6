#include "Lease.h"

#include <timingwheel/wheel/TimerTaskList.h>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace timingwheel {
namespace {

using detail::LanedTaskList;
using test::Lease;

class TimerTaskListTest : public testing::Test {
protected:
    std::vector<int> idsOf(TimerTaskList const& list) const {
        std::vector<int> ids;
        list.forEach([&](TimerTaskEntry const& entry) {
            ids.push_back(static_cast<Lease const&>(entry).id);
        });
        return ids;
    }

    void addAll() {
        for (Lease& lease : leases_) bucket_.add(lease);
    }

    std::array<Lease, 4> leases_{Lease{0}, Lease{1}, Lease{2}, Lease{3}};
    TimerTaskList bucket_;  // lets go of the leases before they die
    LanedTaskList laned_;
};

TEST_F(TimerTaskListTest, IsHalfACacheLine) {
    EXPECT_EQ(sizeof(TimerTaskList), 32U);
    EXPECT_EQ(alignof(TimerTaskList), 32U);
    EXPECT_EQ(sizeof(TimerTaskList::Lanes), 128U);
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

TEST_F(TimerTaskListTest, ShowsTheEntriesOfAllListsOneListAfterTheOther) {
    TimerTaskList::add(leases_[0], laned_.list(8));
    EXPECT_TRUE(laned_.usesLanes());
    EXPECT_EQ(idsOf(laned_), (std::vector{0}));
    TimerTaskList::add(leases_[1], laned_.list(1));
    TimerTaskList::add(leases_[2], laned_.list(8));
    laned_.add(leases_[3]);
    EXPECT_EQ(idsOf(laned_), (std::vector{3, 1, 0, 2}));
    EXPECT_EQ(laned_.size(), 4U);
    EXPECT_EQ(&*laned_.list(1).begin(), &leases_[1]);
    EXPECT_EQ(laned_.used(), 0b1'0000'0011U);
}

TEST_F(TimerTaskListTest, ShowsNothingWhenEmpty) {
    for (TimerTaskList const* bucket : {&bucket_, static_cast<TimerTaskList*>(&laned_)}) {
        EXPECT_TRUE(idsOf(*bucket).empty());
        EXPECT_EQ(bucket->size(), 0U);
        EXPECT_FALSE(bucket->usesLanes());
        EXPECT_EQ(bucket->used(), 0U);
    }
}

TEST_F(TimerTaskListTest, HasOneListWithoutLanes) {
    EXPECT_FALSE(bucket_.hasLanes());
    EXPECT_EQ(bucket_.lists(), 1U);
    EXPECT_TRUE(laned_.hasLanes());
    EXPECT_EQ(laned_.lists(), TimerTaskList::kLists);
}

TEST_F(TimerTaskListTest, SaysWhetherAnEntryIsAloneInItsList) {
    EXPECT_TRUE(TimerTaskList::add(leases_[0], laned_.list(0)));
    EXPECT_FALSE(TimerTaskList::add(leases_[1], laned_.list(0)));
    EXPECT_TRUE(TimerTaskList::add(leases_[2], laned_.list(1)));
}

TEST_F(TimerTaskListTest, IsEmptyOnlyWhenAllListsAre) {
    for (unsigned list = 0; list < TimerTaskList::kLists; ++list) {
        TimerTaskList::add(leases_[0], laned_.list(list));
        EXPECT_FALSE(laned_.empty());
        EXPECT_EQ(laned_.usesLanes(), list > 0);
        EXPECT_EQ(&laned_.takeFirst(), &leases_[0]);
        EXPECT_TRUE(laned_.empty());
    }
}

TEST_F(TimerTaskListTest, TakesFromTheFirstListFirst) {
    TimerTaskList::add(leases_[0], laned_.list(1));
    TimerTaskList::add(leases_[1], laned_.list(2));
    TimerTaskList::add(leases_[2], laned_.list(1));
    TimerTaskList::add(leases_[3], laned_.list(2));
    EXPECT_EQ(&laned_.takeFirst(), &leases_[0]);
    EXPECT_EQ(&laned_.takeFirst(), &leases_[2]);
    EXPECT_EQ(&laned_.takeFirst(), &leases_[1]);
    EXPECT_EQ(&laned_.takeFirst(), &leases_[3]);
    EXPECT_TRUE(laned_.empty());
}

TEST_F(TimerTaskListTest, TakesAllEntriesOfAnotherListByList) {
    LanedTaskList other;
    TimerTaskList::add(leases_[0], laned_.list(1));
    TimerTaskList::add(leases_[1], other.list(1));
    TimerTaskList::add(leases_[2], other.list(2));
    other.add(leases_[3]);
    laned_.takeAll(other);
    EXPECT_EQ(idsOf(laned_), (std::vector{3, 0, 1, 2}));
    EXPECT_TRUE(other.empty());
}

TEST_F(TimerTaskListTest, MovesAnEntryToAnotherListWithoutClearingItsLinks) {
    addAll();
    TimerTaskList::bridge(leases_[1]);
    EXPECT_TRUE(leases_[1].isQueued());
    laned_.add(leases_[1]);
    EXPECT_EQ(idsOf(bucket_), (std::vector{0, 2, 3}));
    EXPECT_EQ(idsOf(laned_), (std::vector{1}));
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
