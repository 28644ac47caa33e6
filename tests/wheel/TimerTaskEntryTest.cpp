#include <timingwheel/wheel/TimerTaskEntry.h>
#include <timingwheel/wheel/TimerTaskList.h>

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
