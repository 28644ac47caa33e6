#include <support/AllocationCounter.h>
#include <timingwheel/wheel/DelayHeap.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace timingwheel {
namespace {

void arm(DelayHeap& heap, TimerTaskList& bucket, std::int64_t expiration, std::uint32_t level = 0) {
    bucket.standAt(level, 0);
    bucket.setExpiration(expiration);
    heap.push(bucket);
}

TEST(DelayHeap, HasSixteenBytesAnItem) { EXPECT_EQ(sizeof(DelayHeap::Item), 16U); }

TEST(DelayHeap, HasATopThatNeverExpiresWhenEmpty) {
    DelayHeap const heap;
    EXPECT_TRUE(heap.empty());
    EXPECT_EQ(heap.size(), 0U);
    EXPECT_EQ(heap.top().bucket, nullptr);
    EXPECT_EQ(heap.top().expiration, INT64_MAX);
}

TEST(DelayHeap, HasTheEarliestBucketOnTopAtAnyTime) {
    std::vector<TimerTaskList> buckets(500);
    std::vector<std::int64_t> expirations;
    std::mt19937_64 random{7};
    DelayHeap heap;
    heap.reserve(buckets.size());
    for (TimerTaskList& bucket : buckets) {
        expirations.push_back(static_cast<std::int64_t>(random() % 300));
        arm(heap, bucket, expirations.back());
        EXPECT_EQ(heap.top().expiration, *std::min_element(expirations.begin(), expirations.end()));
        EXPECT_EQ(heap.top().bucket->expiration(), heap.top().expiration);
    }
    std::sort(expirations.begin(), expirations.end());
    for (std::int64_t expected : expirations) {
        EXPECT_EQ(heap.top().expiration, expected);
        EXPECT_EQ(heap.top().bucket->expiration(), expected);
        heap.pop();
    }
    EXPECT_TRUE(heap.empty());
    EXPECT_EQ(heap.top().expiration, INT64_MAX);
}

TEST(DelayHeap, TakesTheLowerLevelFirstOfTheSameExpiration) {
    std::vector<std::uint32_t> levels{0, 1, 2, 3, 4};
    do {
        std::vector<TimerTaskList> buckets(levels.size());
        DelayHeap heap;
        heap.reserve(levels.size());
        for (std::size_t i = 0; i < levels.size(); ++i) arm(heap, buckets[i], 400, levels[i]);
        for (std::uint32_t expected = 0; expected < levels.size(); ++expected) {
            ASSERT_EQ(heap.top().bucket->level(), expected);
            heap.pop();
        }
    } while (std::next_permutation(levels.begin(), levels.end()));
}

TEST(DelayHeap, TakesTheEarlierBucketFirstWhateverItsLevel) {
    TimerTaskList low;
    TimerTaskList high;
    DelayHeap heap;
    heap.reserve(2);
    arm(heap, low, 401, 0);
    arm(heap, high, 400, 2);
    EXPECT_EQ(heap.top().bucket, &high);
}

TEST(DelayHeap, ShowsAllItsItems) {
    std::vector<TimerTaskList> buckets(9);
    DelayHeap heap;
    heap.reserve(buckets.size());
    std::int64_t expiration = 90;
    for (TimerTaskList& bucket : buckets) arm(heap, bucket, expiration -= 10);
    std::vector<DelayHeap::Item> const items = heap.items();
    EXPECT_EQ(heap.size(), 9U);
    ASSERT_EQ(items.size(), 9U);
    for (TimerTaskList& bucket : buckets)
        EXPECT_EQ(std::count_if(items.begin(), items.end(),
                                [&](DelayHeap::Item const& item) {
                                    return item.bucket == &bucket &&
                                           item.expiration == bucket.expiration();
                                }),
                  1);
}

TEST(DelayHeap, AllocatesOnlyToReserve) {
    std::vector<TimerTaskList> buckets(1000);
    DelayHeap heap;
    {
        test::AllocationCounter const counter;
        heap.reserve(buckets.size());
        EXPECT_GE(counter.allocations(), 1U);
    }
    test::AllocationCounter const counter;
    for (TimerTaskList& bucket : buckets) arm(heap, bucket, 5);
    for (std::size_t i = 0; i < buckets.size(); ++i) heap.pop();
    EXPECT_EQ(counter.allocations(), 0U);
    EXPECT_EQ(counter.deallocations(), 0U);
}

TEST(DelayHeap, KeepsItsBucketsWhenItReservesMore) {
    TimerTaskList bucket;
    DelayHeap heap;
    heap.reserve(1);
    arm(heap, bucket, 12);
    heap.reserve(1000);
    EXPECT_EQ(heap.top().bucket, &bucket);
    EXPECT_EQ(heap.size(), 1U);
}

}  // namespace
}  // namespace timingwheel
