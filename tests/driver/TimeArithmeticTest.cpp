#include "base/TimeArithmetic.h"
#include "platform/CheckedArithmetic.h"

#include <timingwheel/Clock.h>
#include <timingwheel/detail/platform/WideProduct.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <random>

namespace timingwheel::detail {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using TimePoint = Clock::TimePoint;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TimePoint at(std::int64_t time) { return TimePoint{nanoseconds{time}}; }

TEST(TimeArithmetic, StopsAtTheEndsOfItsRange) {
    EXPECT_EQ(timeAfter(at(1), 2ns), at(3));
    EXPECT_EQ(timeAfter(at(kMost - 1), 2ns), TimePoint::max());
    EXPECT_EQ(timeAfter(at(kMost), 1ns), TimePoint::max());
    EXPECT_EQ(timeAfter(at(kLeast), -1ns), TimePoint::min());
    EXPECT_EQ(timeAfter(at(kLeast + 1), -2ns), TimePoint::min());
    EXPECT_EQ(timeAfter(at(kLeast), nanoseconds{kMost - 1}), at(-2));
    // The longest delay means never, whatever the clock shows.
    EXPECT_EQ(timeAfter(at(kLeast), nanoseconds::max()), TimePoint::max());
    EXPECT_EQ(timeBetween(at(1), at(3)), 2ns);
    EXPECT_EQ(timeBetween(at(3), at(1)), -2ns);
    EXPECT_EQ(timeBetween(at(kLeast), at(1)), nanoseconds::max());
    EXPECT_EQ(timeBetween(at(1), at(kLeast)), nanoseconds::min());
    EXPECT_EQ(restOfPeriods(at(1), at(14), 5ns), 3ns);
    EXPECT_EQ(restOfPeriods(at(kLeast), at(kMost), 10ns), 5ns);  // 2^64 - 1
}

TEST(TimeArithmetic, CountsNoTimeBackwards) {
    EXPECT_EQ(timeSince(at(1), at(3)), 2ns);
    EXPECT_EQ(timeSince(at(3), at(1)), 0ns);
    EXPECT_EQ(timeSince(at(kLeast), at(kMost)), nanoseconds::max());
}

// What stands in for a wider type where the compiler has none.
TEST(WideProduct, IsTheSameInFourParts) {
    constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
    static_assert(upperHalfOfProductPortably(kAll, kAll) == kAll - 1);
    static_assert(upperHalfOfProductPortably(std::uint64_t{1} << 32U, std::uint64_t{1} << 32U) ==
                  1);
    std::mt19937_64 random{7};
    for (int i = 0; i < 100'000; ++i) {
        std::uint64_t const a = random() >> (random() % 64);
        std::uint64_t const b = random() >> (random() % 64);
        ASSERT_EQ(upperHalfOfProductPortably(a, b), upperHalfOfProduct(a, b)) << a << " * " << b;
    }
}

}  // namespace
}  // namespace timingwheel::detail
