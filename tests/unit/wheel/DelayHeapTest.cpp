#include <support/AllocationCounter.h>
#include <timingwheel/wheel/DelayHeap.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace timingwheel {
namespace {

/// Levels of buckets as a wheel has them.
struct Levels {
    explicit Levels(std::vector<std::uint32_t> const& sizes) {
        std::int64_t granularity = 1;
        for (std::uint32_t size : sizes) {
            auto const number = static_cast<std::uint32_t>(buckets.size());
            auto& level = buckets.emplace_back(size);
            for (std::uint32_t slot = 0; slot < size; ++slot) level[slot].standAt(number, slot);
            granularities.push_back(granularity);
            heap.addLevel(level, granularity);
            if (buckets.size() < sizes.size()) granularity *= size;
        }
    }

    /// Arms the bucket that `position` belongs to. Returns its expiration.
    std::int64_t arm(std::uint32_t level, std::int64_t position) {
        std::int64_t const slots = position / granularities[level];
        auto& bucket = buckets[level][static_cast<std::size_t>(slots) % buckets[level].size()];
        bucket.arm(slots * granularities[level]);
        heap.push(bucket);
        return bucket.expiration();
    }

    std::vector<DelayHeap::Item> items() const {
        std::vector<DelayHeap::Item> items;
        heap.forEach([&](DelayHeap::Item const& item) { items.push_back(item); });
        return items;
    }

    std::vector<std::vector<TimerTaskList>> buckets;
    std::vector<std::int64_t> granularities;
    DelayHeap heap;
};

TEST(DelayHeap, HasATopThatNeverExpiresWhenEmpty) {
    DelayHeap const withoutLevels;
    Levels const levels{{20, 20}};
    for (DelayHeap const* heap : {&withoutLevels, &levels.heap}) {
        EXPECT_TRUE(heap->empty());
        EXPECT_EQ(heap->size(), 0U);
        EXPECT_EQ(heap->top().bucket, nullptr);
        EXPECT_EQ(heap->top().expiration, INT64_MAX);
    }
}

// A clock goes round all levels, which arm what lies before it and lose what it reaches. The finest
// one arms as a cascade does: again what is armed already.
TEST(DelayHeap, HasTheEarliestBucketOnTopAtAnyTime) {
    std::mt19937_64 random{7};
    for (std::vector<std::uint32_t> const& sizes : {std::vector<std::uint32_t>{20, 20, 20, 20},
                                                    {60, 60, 24, 7},
                                                    {2, 2, 2, 2, 2, 2, 2},
                                                    {256, 256},
                                                    {5'000, 3}}) {
        Levels levels{sizes};
        std::multiset<std::pair<std::int64_t, std::uint32_t>> expected;
        std::int64_t clock = 0;
        for (int i = 0; i < 20'000; ++i) {
            if (random() % 2 == 0) {
                auto const number = static_cast<std::uint32_t>(random() % sizes.size());
                auto& level = levels.buckets[number];
                std::int64_t const granularity = levels.granularities[number];
                auto const ahead = static_cast<std::int64_t>(1 + random() % (level.size() - 1));
                std::int64_t const slots = clock / granularity + ahead;
                auto const slot = static_cast<std::uint32_t>(slots % std::ssize(level));
                bool const isArmed = level[slot].isArmed();
                if (number == 0 && random() % 2 == 0) {
                    level[slot].arm(slots);
                    levels.heap.pushFinest(slot);
                    levels.heap.noteFinest(slot, slots);
                } else if (!isArmed) {
                    levels.arm(number, slots * granularity);
                }
                if (!isArmed) expected.emplace(slots * granularity, number);
            } else if (!expected.empty()) {
                auto const [expiration, number] = *expected.begin();
                ASSERT_EQ(levels.heap.top().bucket->level(), number);
                clock = expiration;
                levels.heap.top().bucket->disarm();
                levels.heap.pop();
                expected.erase(expected.begin());
            }
            ASSERT_EQ(levels.heap.size(), expected.size());
            ASSERT_EQ(levels.heap.empty(), expected.empty());
            if (expected.empty()) continue;
            ASSERT_EQ(levels.heap.top().expiration, expected.begin()->first);
            ASSERT_EQ(levels.heap.top().bucket->expiration(), expected.begin()->first);
        }
    }
}

TEST(DelayHeap, TakesTheLowerLevelFirstOfTheSameExpiration) {
    std::vector<std::uint32_t> order{0, 1, 2};
    do {
        Levels levels{{20, 20, 20}};
        for (std::uint32_t level : order) levels.arm(level, 400);
        for (std::uint32_t expected = 0; expected < order.size(); ++expected) {
            ASSERT_EQ(levels.heap.top().bucket->level(), expected);
            levels.heap.pop();
        }
        EXPECT_TRUE(levels.heap.empty());
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(DelayHeap, TakesTheEarlierBucketFirstWhateverItsLevel) {
    Levels levels{{20, 20, 20}};
    levels.arm(0, 401);
    levels.arm(2, 400);
    EXPECT_EQ(levels.heap.top().bucket->level(), 2U);
}

TEST(DelayHeap, ShowsAllItsItems) {
    Levels levels{{20, 20, 20}};
    EXPECT_TRUE(levels.items().empty());
    std::vector<std::pair<std::uint32_t, std::int64_t>> const expected{
        {0, 415}, {0, 419}, {0, 425}, {1, 780}, {2, 800}, {2, 7'600}};
    for (auto i = expected.rbegin(); i != expected.rend(); ++i) levels.arm(i->first, i->second);
    std::vector<DelayHeap::Item> const items = levels.items();
    ASSERT_EQ(items.size(), expected.size());
    EXPECT_EQ(levels.heap.size(), expected.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        EXPECT_EQ(items[i].bucket->level(), expected[i].first);
        EXPECT_EQ(items[i].bucket->expiration(), expected[i].second);
        EXPECT_EQ(items[i].expiration, expected[i].second);
    }
}

// A turn of the coarsest level is longer than 64 bits can say.
TEST(DelayHeap, ShowsTheItemsOfALevelOfTheWidestSlots) {
    Levels levels{std::vector<std::uint32_t>(7, 512)};
    for (std::int64_t slots : {1, 3}) levels.arm(6, slots << 54);
    std::vector<DelayHeap::Item> const items = levels.items();
    ASSERT_EQ(items.size(), 2U);
    EXPECT_EQ(items[0].expiration, std::int64_t{1} << 54);
    EXPECT_EQ(items[1].expiration, std::int64_t{3} << 54);
}

TEST(DelayHeap, AllocatesOnlyForItsLevels) {
    Levels levels{{1'000, 1'000}};
    test::AllocationCounter const counter;
    for (std::int64_t position = 1'999; position >= 1'000; --position) levels.arm(0, position);
    levels.arm(1, 5'000);
    while (!levels.heap.empty()) levels.heap.pop();
    EXPECT_EQ(counter.allocations(), 0U);
    EXPECT_EQ(counter.deallocations(), 0U);
}

TEST(DelayHeap, KeepsItsBucketsWhenItGetsAndLosesALevel) {
    Levels levels{{20}};
    levels.arm(0, 12);
    std::vector<TimerTaskList> coarser(20);
    levels.heap.addLevel(coarser, 20);
    EXPECT_EQ(levels.heap.top().bucket, &levels.buckets[0][12]);
    levels.heap.removeLevelsFrom(1);
    EXPECT_EQ(levels.heap.top().bucket, &levels.buckets[0][12]);
    EXPECT_EQ(levels.heap.size(), 1U);
}

}  // namespace
}  // namespace timingwheel
