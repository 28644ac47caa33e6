#include <timingwheel/wheel/detail/SlotSet.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

namespace timingwheel {
namespace {

using detail::SlotSet;

TEST(SlotSet, IsEmptyAtFirst) {
    for (std::uint32_t size : {1U, 20U, 64U, 65U, 4'096U, 4'097U, 1'048'576U})
        EXPECT_TRUE(SlotSet{size}.empty()) << size;
}

TEST(SlotSet, HoldsWhatWasAddedUntilItIsRemoved) {
    for (std::uint32_t size : {2U, 64U, 65U, 4'097U, 1'048'576U}) {
        SlotSet slots{size};
        slots.add(size - 1);
        EXPECT_TRUE(slots.contains(size - 1));
        EXPECT_FALSE(slots.contains(size - 2));
        EXPECT_FALSE(slots.empty());
        slots.remove(size - 1);
        EXPECT_FALSE(slots.contains(size - 1));
        EXPECT_TRUE(slots.empty());
    }
}

TEST(SlotSet, GoesRoundInACircle) {
    SlotSet slots{200};
    for (std::uint32_t slot : {3U, 70U, 199U}) slots.add(slot);
    EXPECT_EQ(slots.nextAfter(3), 70U);
    EXPECT_EQ(slots.nextAfter(70), 199U);
    EXPECT_EQ(slots.nextAfter(199), 3U);
    EXPECT_EQ(slots.nextAfter(100), 199U);
    EXPECT_EQ(slots.nextAfter(0), 3U);
}

TEST(SlotSet, ReturnsTheSlotItselfWhenItIsTheOnlyOne) {
    for (std::uint32_t size : {2U, 64U, 4'096U, 1'048'576U}) {
        for (std::uint32_t slot : {0U, 1U, size / 2, size - 1}) {
            SlotSet slots{size};
            slots.add(slot);
            EXPECT_EQ(slots.nextAfter(slot), slot) << size;
        }
    }
}

// Against a std::set. The sizes lie beside those at which another summary begins.
TEST(SlotSet, FindsTheSameAsASet) {
    std::mt19937_64 random{5};
    for (std::uint32_t size : {2U, 20U, 63U, 64U, 65U, 256U, 4'095U, 4'096U, 4'097U, 262'145U}) {
        SlotSet slots{size};
        std::set<std::uint32_t> expected;
        for (int i = 0; i < 20'000; ++i) {
            auto const slot = static_cast<std::uint32_t>(random() % size);
            // Sparse in turn with dense: words become empty and summaries with them.
            if (random() % 100 < (i / 2'000 % 2 == 0 ? 30 : 70)) {
                slots.add(slot);
                expected.insert(slot);
            } else {
                slots.remove(slot);
                expected.erase(slot);
            }
            ASSERT_EQ(slots.contains(slot), expected.contains(slot));
            ASSERT_EQ(slots.empty(), expected.empty());
            ASSERT_EQ(slots.size(), expected.size());
            if (expected.empty()) continue;
            auto const from = static_cast<std::uint32_t>(random() % size);
            auto const next = expected.upper_bound(from);
            ASSERT_EQ(slots.nextAfter(from), next == expected.end() ? *expected.begin() : *next)
                << "size " << size << ", after " << from;
        }
    }
}

}  // namespace
}  // namespace timingwheel
