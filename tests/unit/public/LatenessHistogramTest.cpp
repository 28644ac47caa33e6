#include <timingwheel/TimerStatistics.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(LatenessHistogram, BucketsFollowEachOtherWithoutGaps) {
    for (std::size_t bucket = 0; bucket + 1 < LatenessHistogram::kBuckets; ++bucket) {
        nanoseconds const upper = LatenessHistogram::upperBound(bucket);
        ASSERT_EQ(LatenessHistogram::bucketOf(upper), bucket);
        ASSERT_EQ(LatenessHistogram::bucketOf(upper + 1ns), bucket + 1);
    }
    EXPECT_EQ(LatenessHistogram::upperBound(LatenessHistogram::kBuckets - 1), nanoseconds::max());
    EXPECT_EQ(LatenessHistogram::bucketOf(nanoseconds::max()), LatenessHistogram::kBuckets - 1);
    EXPECT_EQ(LatenessHistogram::bucketOf(nanoseconds::min()), 0U);
    EXPECT_EQ(LatenessHistogram::bucketOf(-1ns), 0U);
}

TEST(LatenessHistogram, FiguresAreRightToAnEighthOrBetter) {
    for (std::int64_t value = 1; value < (std::int64_t{1} << 61); value += 1 + value / 97) {
        auto const upper =
            LatenessHistogram::upperBound(LatenessHistogram::bucketOf(nanoseconds{value}));
        ASSERT_GE(upper.count(), value);
        ASSERT_LE(upper.count() - value, value / 8);
    }
}

TEST(LatenessHistogram, QuantilesOfMoreTasksThanADoubleCounts) {
    LatenessHistogram histogram;
    histogram.add(1ns, (std::uint64_t{1} << 53) + 3);
    EXPECT_EQ(histogram.quantile(1), 1ns);
    histogram.add(1ns, UINT64_MAX - histogram.count());
    EXPECT_EQ(histogram.quantile(1), 1ns);
}

TEST(LatenessHistogram, QuantilesCountFromBelow) {
    LatenessHistogram histogram;
    EXPECT_EQ(histogram.quantile(0.5), 0ns);
    for (int i = 1; i <= 4; ++i) histogram.add(nanoseconds{i});
    histogram.add(7ns, 6);
    EXPECT_EQ(histogram.count(), 10U);
    EXPECT_EQ(histogram.quantile(0), 1ns);
    EXPECT_EQ(histogram.quantile(0.1), 1ns);
    EXPECT_EQ(histogram.quantile(0.11), 2ns);
    EXPECT_EQ(histogram.quantile(0.4), 4ns);
    EXPECT_EQ(histogram.quantile(0.41), 7ns);
    EXPECT_EQ(histogram.quantile(1), 7ns);
    EXPECT_EQ(histogram.quantile(9), 7ns);
    EXPECT_EQ(histogram.quantile(std::nan("")), 1ns);
}

}  // namespace
}  // namespace timingwheel::test
