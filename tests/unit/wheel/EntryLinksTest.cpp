#include <timingwheel/wheel/detail/EntryLinks.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace timingwheel {
namespace {

using detail::EntryLinks;
using detail::EntryLocation;

TEST(EntryLinks, KeepALocationInTheFirstLink) {
    TimerTaskEntry entry;
    EXPECT_FALSE(EntryLinks::hasLocation(entry));
    for (std::uint32_t slot : {0U, 1U, 511U, (1U << 30) - 1}) {
        for (std::size_t index : {std::size_t{0}, std::size_t{1}, (std::size_t{1} << 33) - 1}) {
            EntryLinks::setLocation(entry, {slot, index});
            EXPECT_TRUE(EntryLinks::hasLocation(entry));
            EXPECT_EQ(EntryLinks::locationOf(entry), (EntryLocation{slot, index}));
            EXPECT_EQ(EntryLinks::second(entry), nullptr) << "the other link was touched";
        }
    }
    EntryLinks::clearLocation(entry);
    EXPECT_FALSE(EntryLinks::hasLocation(entry));
}

// Slot 0, index 0 must not look like no location at all.
TEST(EntryLinks, APlacedEntryIsQueued) {
    TimerTaskEntry entry;
    EntryLinks::setLocation(entry, {0, 0});
    EXPECT_TRUE(entry.isQueued());
    EntryLinks::clearLocation(entry);
    EXPECT_FALSE(entry.isQueued());
}

TEST(EntryLinks, LeaveTheSecondLinkOfAPlacedEntryToItsOwner) {
    TimerTaskEntry entry;
    TimerTaskEntry other;
    EntryLinks::setSecond(entry, &other);
    EntryLinks::setLocation(entry, {7, 42});
    EXPECT_EQ(EntryLinks::second(entry), &other);
    EntryLinks::clearLocation(entry);
    EXPECT_EQ(EntryLinks::second(entry), &other);
    EntryLinks::setSecond(entry, nullptr);
    EXPECT_EQ(EntryLinks::second(entry), nullptr);
}

#ifndef NDEBUG
TEST(EntryLinksDeathTest, AssertsThatAnEntryLeftItsLocationBeforeItDies) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_DEATH(
        {
            TimerTaskEntry entry;
            EntryLinks::setLocation(entry, {1, 2});
        },
        "");
}
#endif

}  // namespace
}  // namespace timingwheel
