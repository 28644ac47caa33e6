#include "base/TimeArithmetic.h"
#include "platform/CheckedArithmetic.h"

#include <timingwheel/Clock.h>
#include <timingwheel/detail/platform/WideProduct.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

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

/// Both say the same, and the same result where there is one.
template <class Integer, class Function, class Portable>
void expectSame(Integer a, Integer b, Function&& function, Portable&& portable) {
    Integer result{};
    Integer other{};
    bool const overflows = function(a, b, result);
    ASSERT_EQ(portable(a, b, other), overflows) << a << ", " << b;
    if (!overflows) {
        ASSERT_EQ(other, result) << a << ", " << b;
    }
}

/// Zero, the ends of the range, powers of two and their neighbours, and some others.
template <class Integer>
std::vector<Integer> numbersToTry() {
    std::vector<Integer> numbers{0, std::numeric_limits<Integer>::min(),
                                 std::numeric_limits<Integer>::max()};
    std::mt19937_64 random{7};
    for (unsigned bit = 0; bit < 64; ++bit) {
        std::uint64_t const power = std::uint64_t{1} << bit;
        for (std::uint64_t const value : {power - 1, power, power + 1, random() >> bit}) {
            numbers.push_back(static_cast<Integer>(value));
            numbers.push_back(static_cast<Integer>(0 - value));
        }
    }
    return numbers;
}

TEST(CheckedArithmetic, IsTheSameInPlainCpp) {
    using Signed = bool (*)(std::int64_t, std::int64_t, std::int64_t&) noexcept;
    for (std::int64_t const a : numbersToTry<std::int64_t>())
        for (std::int64_t const b : numbersToTry<std::int64_t>()) {
            expectSame(a, b, addOverflows, portable::addOverflows);
            expectSame(a, b, subtractOverflows, portable::subtractOverflows);
            expectSame(a, b, Signed{multiplyOverflows}, Signed{portable::multiplyOverflows});
        }
}

TEST(CheckedArithmetic, IsTheSameInPlainCppWithoutASign) {
    using Unsigned = bool (*)(std::uint64_t, std::uint64_t, std::uint64_t&) noexcept;
    for (std::uint64_t const a : numbersToTry<std::uint64_t>())
        for (std::uint64_t const b : numbersToTry<std::uint64_t>())
            expectSame(a, b, Unsigned{multiplyOverflows}, Unsigned{portable::multiplyOverflows});
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
