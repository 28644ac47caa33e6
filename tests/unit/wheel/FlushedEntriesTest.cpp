#include <timingwheel/wheel/detail/FlushedEntries.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <vector>

namespace timingwheel {
namespace {

using detail::FlushedEntries;
using detail::LanedTaskList;
using Indices = std::vector<std::size_t>;

class FlushedEntriesTest : public testing::Test {
protected:
    std::size_t take() { return static_cast<std::size_t>(&flushed_.takeNext() - entries_.data()); }
    Indices takeAll() {
        Indices taken;
        while (!flushed_.empty()) taken.push_back(take());
        return taken;
    }
    // Entry i goes into list i mod 3.
    void flushLanes() {
        for (std::size_t i = 0; i < entries_.size(); ++i)
            TimerTaskList::add(entries_[i], bucket_.list(static_cast<unsigned>(i) % 3));
        flushed_.takeAll(bucket_);
    }

    std::array<TimerTaskEntry, 12> entries_;
    LanedTaskList bucket_;
    FlushedEntries flushed_;
};

TEST_F(FlushedEntriesTest, AreNoneAtFirst) {
    EXPECT_TRUE(flushed_.empty());
    EXPECT_EQ(flushed_.taken(), 0U);
}

TEST_F(FlushedEntriesTest, AreTakenInOrderFromABucketThatUsesNoLane) {
    for (std::size_t i : {3U, 1U, 7U, 0U}) bucket_.add(entries_[i]);
    flushed_.takeAll(bucket_);
    EXPECT_TRUE(bucket_.empty());
    EXPECT_EQ(takeAll(), (Indices{3, 1, 7, 0}));
    EXPECT_EQ(flushed_.taken(), 4U);
}

// 0 3 6 9 | 1 4 7 10 | 2 5 8 11
TEST_F(FlushedEntriesTest, AreTakenInTurnFromEveryList) {
    flushLanes();
    EXPECT_TRUE(bucket_.empty());
    EXPECT_EQ(takeAll(), (Indices{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST_F(FlushedEntriesTest, AreShownWhereTheyAre) {
    for (std::size_t i : {3U, 1U}) bucket_.add(entries_[i]);
    flushed_.takeFrom(bucket_);
    EXPECT_EQ(&flushed_.list(), &bucket_);
    EXPECT_EQ(bucket_.size(), 2U);
    EXPECT_EQ(takeAll(), (Indices{3, 1}));
    EXPECT_TRUE(bucket_.empty());
    flushed_.forgetBucket();
    bucket_.add(entries_[0]);
    EXPECT_TRUE(flushed_.empty());
}

TEST_F(FlushedEntriesTest, AreTakenFromWhateverListsHoldAny) {
    for (unsigned list = 0; list < TimerTaskList::kLists; ++list) {
        for (std::size_t i = 0; i < 5; ++i) TimerTaskList::add(entries_[i], bucket_.list(list));
        flushed_.takeAll(bucket_);
        Indices const taken = takeAll();
        EXPECT_EQ(taken.size(), 5U);
        EXPECT_EQ((std::set<std::size_t>{taken.begin(), taken.end()}),
                  (std::set<std::size_t>{0, 1, 2, 3, 4}));
        EXPECT_EQ(flushed_.taken(), 5U);
    }
}

// What was prefetched is the first to go in one case or another.
TEST_F(FlushedEntriesTest, MayBeRemovedBeforeTheyAreTaken) {
    for (std::size_t before = 0; before < entries_.size(); ++before) {
        for (std::size_t removed = 0; removed < entries_.size(); ++removed) {
            flushLanes();
            Indices taken;
            for (std::size_t i = 0; i < before; ++i) taken.push_back(take());
            bool const wasThere = entries_[removed].isQueued();
            if (wasThere) TimerTaskList::remove(entries_[removed]);
            for (std::size_t i : takeAll()) taken.push_back(i);

            std::set<std::size_t> const distinct{taken.begin(), taken.end()};
            EXPECT_EQ(distinct.size(), taken.size());
            EXPECT_EQ(taken.size(), entries_.size() - (wasThere ? 1 : 0));
            EXPECT_EQ(distinct.contains(removed), !wasThere);
        }
    }
}

TEST_F(FlushedEntriesTest, AreNoneOnceTheLastWasRemovedFromAnyLane) {
    for (TimerTaskEntry& last : entries_) {
        flushLanes();
        for (TimerTaskEntry& entry : entries_)
            if (&entry != &last) TimerTaskList::remove(entry);
        EXPECT_FALSE(flushed_.empty());
        TimerTaskList::remove(last);
        EXPECT_TRUE(flushed_.empty());
    }
}

// In lanes, and in a bucket that uses none. Those at even places go, however many at a time.
TEST_F(FlushedEntriesTest, StayInTheirOrderIfTheyAreNotPlaced) {
    for (bool const inLanes : {true, false}) {
        for (std::size_t atOnce = 1; atOnce <= entries_.size() + 1; ++atOnce) {
            for (TimerTaskEntry& entry : entries_)
                if (!inLanes) bucket_.add(entry);
            inLanes ? flushLanes() : flushed_.takeAll(bucket_);
            TimerTaskList placed;
            std::size_t atMost = atOnce;
            flushed_.placeAll(atMost, [&](TimerTaskEntry& entry, unsigned list) {
                auto const i = static_cast<std::size_t>(&entry - entries_.data());
                EXPECT_EQ(list, inLanes ? i % 3 : 0);
                if (i % 2 == 1) return false;
                placed.add(entry);
                return true;
            });
            std::size_t const visited = std::min(atOnce, entries_.size());
            EXPECT_EQ(atMost, atOnce - visited);
            EXPECT_EQ(placed.size(), (visited + 1) / 2);
            EXPECT_EQ(flushed_.taken(), placed.size());
            while (!placed.empty()) placed.takeFirst();

            Indices const left = takeAll();
            EXPECT_EQ(left.size(), entries_.size() - (visited + 1) / 2);
            EXPECT_EQ(std::set(left.begin(), left.end()).size(), left.size());
            for (std::size_t list = 0; list < (inLanes ? 3 : 1); ++list) {
                Indices ofList;
                for (std::size_t i : left)
                    if (!inLanes || i % 3 == list) ofList.push_back(i);
                EXPECT_TRUE(std::is_sorted(ofList.begin(), ofList.end()));
            }
        }
    }
}

TEST_F(FlushedEntriesTest, AreShownUntilTheyAreTaken) {
    flushLanes();
    EXPECT_EQ(flushed_.list().size(), 12U);
    take();
    take();
    EXPECT_EQ(flushed_.list().size(), 10U);
    takeAll();
    EXPECT_TRUE(flushed_.list().empty());
}

}  // namespace
}  // namespace timingwheel
