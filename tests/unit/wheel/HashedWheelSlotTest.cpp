#include <timingwheel/wheel/HashedWheelSlot.h>
#include <timingwheel/wheel/detail/EntryLinks.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace timingwheel {
namespace {

using detail::EntryLinks;
using detail::EntryLocation;

constexpr std::uint32_t kNumber = 5;

/// A slot and what it may hold, placed as a wheel would.
class HashedWheelSlotTest : public testing::Test {
protected:
    explicit HashedWheelSlotTest() : entries_(2'000) {}
    ~HashedWheelSlotTest() override {
        for (TimerTaskEntry& entry : entries_) EntryLinks::clearLocation(entry);
    }

    void add(std::size_t count, std::uint32_t turn = 0) {
        for (std::size_t i = 0; i < count; ++i, ++added_)
            EntryLinks::setLocation(entries_[added_], {kNumber, slot_.add(entries_[added_], turn)});
    }
    void remove(std::size_t number) {
        slot_.remove(EntryLinks::locationOf(entries_[number]).index);
        EntryLinks::clearLocation(entries_[number]);
    }
    // Which entries stand there, by number, in order.
    std::vector<std::size_t> numbers() const {
        std::vector<std::size_t> numbers;
        for (TimerTaskEntry const* entry : slot_.entries())
            if (entry != nullptr)
                numbers.push_back(static_cast<std::size_t>(entry - entries_.data()));
        return numbers;
    }

    std::vector<TimerTaskEntry> entries_;
    std::size_t added_ = 0;
    HashedWheelSlot slot_;
};

TEST_F(HashedWheelSlotTest, KeepsTheOrderOfArrivalAroundHoles) {
    add(6);
    remove(1);
    remove(4);
    EXPECT_EQ(numbers(), (std::vector<std::size_t>{0, 2, 3, 5}));
    EXPECT_EQ(slot_.size(), 4U);
    EXPECT_EQ(slot_.extent(), 6U);
}

TEST_F(HashedWheelSlotTest, DropsHolesAtItsEnd) {
    add(6);
    remove(3);
    remove(4);
    EXPECT_EQ(slot_.extent(), 6U);
    remove(5);
    EXPECT_EQ(slot_.extent(), 3U);
    EXPECT_EQ(slot_.size(), 3U) << "no holes";
}

TEST_F(HashedWheelSlotTest, ClosesItsHolesOnceTheyAreMoreThanHalfAndTellsTheEntries) {
    add(8);
    for (std::size_t number : {0U, 2U, 4U, 6U}) remove(number);
    slot_.tidy(kNumber);
    EXPECT_EQ(slot_.extent(), 8U) << "half are no reason";
    remove(3);
    slot_.tidy(kNumber);
    EXPECT_EQ(slot_.extent(), 3U);
    EXPECT_EQ(slot_.size(), 3U) << "no holes";
    EXPECT_EQ(numbers(), (std::vector<std::size_t>{1, 5, 7}));
    for (std::size_t index = 0; index < 3; ++index)
        EXPECT_EQ(EntryLinks::locationOf(*slot_.entries()[index]), (EntryLocation{kNumber, index}));
}

TEST_F(HashedWheelSlotTest, KeepsEntriesAndTurnsTogetherWhenItClosesHoles) {
    for (std::uint32_t turn = 0; turn < 100; ++turn) add(1, turn);
    for (std::size_t number = 0; number < 100; ++number)
        if (number % 3 != 0) remove(number);
    slot_.tidy(kNumber);
    ASSERT_EQ(slot_.extent(), 34U);
    for (std::size_t index = 0; index < 34; ++index) {
        EXPECT_EQ(slot_.turns()[index], 3 * index);
        EXPECT_EQ(slot_.entries()[index], &entries_[3 * index]);
    }
}

// The search goes block by block: every position of every length around a block's.
TEST_F(HashedWheelSlotTest, FindsATurnWhereverItStands) {
    for (std::size_t length : {1U, 2U, 31U, 32U, 33U, 63U, 64U, 65U, 100U}) {
        for (std::size_t at = 0; at < length; ++at) {
            HashedWheelSlot slot;
            for (std::size_t i = 0; i < length; ++i) slot.add(entries_[i], i == at ? 7 : 8);
            for (std::size_t from = 0; from <= length; ++from)
                ASSERT_EQ(slot.find(7, from), from <= at ? at : length)
                    << "at " << at << " of " << length << " from " << from;
            ASSERT_EQ(slot.find(9, 0), length);
        }
    }
}

TEST_F(HashedWheelSlotTest, GivesBackTheMemoryOfAnEmptiedSlot) {
    add(1'000);
    EXPECT_GE(slot_.capacity(), 1'000U);
    for (std::size_t number = 0; number < 1'000; ++number) remove(number);
    slot_.tidy(kNumber);
    EXPECT_EQ(slot_.extent(), 0U);
    EXPECT_EQ(slot_.capacity(), 0U);
}

TEST_F(HashedWheelSlotTest, KeepsRoomForAFewWhenItIsEmptied) {
    add(HashedWheelSlot::kKept);
    std::size_t const capacity = slot_.capacity();
    for (std::size_t number = 0; number < HashedWheelSlot::kKept; ++number) remove(number);
    slot_.tidy(kNumber);
    EXPECT_EQ(slot_.capacity(), capacity);
}

TEST_F(HashedWheelSlotTest, GivesMemoryBackWhenItHoldsMuchLessThanItHasRoomFor) {
    add(1'000);
    for (std::size_t number = 0; number < 990; ++number) remove(number);
    slot_.tidy(kNumber);
    EXPECT_GE(slot_.capacity(), 1'000U) << "only an addition may look for memory";
    add(1);
    EXPECT_LE(slot_.capacity(), 64U);
    std::vector<std::size_t> expected;
    for (std::size_t number = 990; number <= 1'000; ++number) expected.push_back(number);
    EXPECT_EQ(numbers(), expected);
    for (std::size_t index = 0; index < slot_.extent(); ++index)
        EXPECT_EQ(EntryLinks::locationOf(*slot_.entries()[index]).index, index);
}

}  // namespace
}  // namespace timingwheel
