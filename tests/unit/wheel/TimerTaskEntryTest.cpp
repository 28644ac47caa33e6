#include <timingwheel/wheel/TimerTaskEntry.h>
#include <timingwheel/wheel/TimerTaskList.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <gtest/gtest.h>

#include <cstdint>

namespace timingwheel {
namespace {

TEST(TimerTaskEntry, HasTwentyFourBytes) { EXPECT_EQ(sizeof(TimerTaskEntry), 24U); }

TEST(TimerTaskEntry, PacksDeadlineAndOwnerBitsIntoOneWord) {
    for (Tick deadline : {Tick::min(), Tick{-1}, Tick{0}, Tick{1}, Tick{123'456}, Tick::max()}) {
        for (unsigned bits = 0; bits < 1U << TimerTaskEntry::kOwnerBits; ++bits) {
            std::uint64_t const word = TimerTaskEntry::pack(deadline, bits);
            EXPECT_EQ(TimerTaskEntry::deadlineOf(word), deadline) << "with bits " << bits;
            EXPECT_EQ(TimerTaskEntry::ownerBitsOf(word), bits) << "with deadline " << deadline;
        }
    }
}

TEST(TimerTaskEntry, ReadsItsDeadlineFromTheWord) {
    TimerTaskEntry entry;
    EXPECT_EQ(entry.deadline(), Tick{0});
    entry.word() = TimerTaskEntry::pack(Tick{-17}, 9);
    EXPECT_EQ(entry.deadline(), Tick{-17});
}

TEST(TimerTaskEntry, IsQueuedWhileAListHoldsIt) {
    TimerTaskEntry entry;
    TimerTaskList bucket;
    EXPECT_FALSE(entry.isQueued());
    bucket.add(entry);
    EXPECT_TRUE(entry.isQueued());
    bucket.takeFirst();
    EXPECT_FALSE(entry.isQueued());
}

TEST(TimerTaskEntry, CopyIsANewEntryWithTheSameDeadlineInNoWheel) {
    TimerTaskEntry entry;
    entry.word() = TimerTaskEntry::pack(Tick{25}, 5);
    TimerTaskList bucket;
    bucket.add(entry);

    TimerTaskEntry const copy{entry};

    EXPECT_FALSE(copy.isQueued());
    EXPECT_EQ(copy.deadline(), Tick{25});
    EXPECT_EQ(TimerTaskEntry::ownerBitsOf(copy.word()), 0U);
    EXPECT_TRUE(entry.isQueued());
    bucket.takeFirst();
}

TEST(TimerTaskEntry, AssignmentLeavesTheEntryWhereItIsWithItsOwnDeadline) {
    TimerTaskEntry queued;
    TimerTaskEntry other;
    queued.word() = TimerTaskEntry::pack(Tick{25}, 5);
    other.word() = TimerTaskEntry::pack(Tick{99}, 7);
    std::uint64_t const wordBefore = queued.word();
    TimerTaskList bucket;
    bucket.add(queued);

    queued = other;

    EXPECT_TRUE(queued.isQueued());
    EXPECT_EQ(queued.word(), wordBefore);
    other = queued;
    EXPECT_FALSE(other.isQueued());
    EXPECT_EQ(other.deadline(), Tick{99});
    EXPECT_EQ(&bucket.takeFirst(), &queued);
}

/// In a list of its owner's, too.
struct Recent : TimerTaskEntry, boost::intrusive::list_base_hook<> {};

// Bug pattern: the entry's own links take the default tag, and a second hook is ambiguous.
TEST(TimerTaskEntry, MayStandInAnotherListAtTheSameTime) {
    TimingWheel<Recent> wheel;
    Recent a;
    Recent b;
    boost::intrusive::list<Recent> leastRecent;
    leastRecent.push_back(a);
    leastRecent.push_back(b);
    EXPECT_FALSE(a.isQueued());
    wheel.add(a, Tick{5});
    wheel.add(b, Tick{25});
    leastRecent.splice(leastRecent.end(), leastRecent, leastRecent.iterator_to(a));
    EXPECT_EQ(&leastRecent.front(), &b);
    EXPECT_TRUE(a.isQueued());

    wheel.advanceTo(Tick{5}, [&](Recent& due) {
        EXPECT_EQ(&due, &a);
        leastRecent.erase(leastRecent.iterator_to(due));
    });
    leastRecent.erase(leastRecent.iterator_to(b));
    EXPECT_TRUE(leastRecent.empty());
    EXPECT_TRUE(b.isQueued());
    wheel.checkInvariants();
    EXPECT_TRUE(wheel.cancel(b));
    EXPECT_FALSE(a.isQueued());
}

#ifndef NDEBUG
TEST(TimerTaskEntryDeathTest, AssertsThatItLeftItsWheelBeforeItDies) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_DEATH(
        {
            TimerTaskList bucket;
            TimerTaskEntry entry;
            bucket.add(entry);
        },
        "");
}
#endif

}  // namespace
}  // namespace timingwheel
