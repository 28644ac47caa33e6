// Compiled with -ffast-math, as a user's program may be: compilers then take it that no number is a
// NaN.

#include <timingwheel/Duration.h>

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <ratio>
#include <stdexcept>

namespace timingwheel::test {
namespace {

/// A unit that no other test has, so that its conversion is compiled here.
using Unit = std::ratio<7, 1'000>;

template <class Rep>
std::chrono::duration<Rep, Unit> ofBits(std::uint64_t bits) {
    std::uint64_t volatile const unknown = bits;
    return std::chrono::duration<Rep, Unit>{
        static_cast<Rep>(std::bit_cast<double>(std::uint64_t{unknown}))};
}

// G13
TEST(FastMath, RefusesNaNAndTakesWhatIsInfinite) {
    constexpr std::uint64_t kNaNs[] = {0x7FF8'0000'0000'0000, 0xFFF8'0000'0000'0001};
    for (std::uint64_t const nan : kNaNs) {
        EXPECT_THROW(Duration{ofBits<double>(nan)}, std::invalid_argument);
        EXPECT_THROW(Duration{ofBits<float>(nan)}, std::invalid_argument);
        EXPECT_THROW(Duration{ofBits<long double>(nan)}, std::invalid_argument);
    }
    EXPECT_EQ(Duration{ofBits<double>(0x7FF0'0000'0000'0000)}.count(), INT64_MAX);
    EXPECT_EQ(Duration{ofBits<double>(0xFFF0'0000'0000'0000)}.count(), INT64_MIN);
}

}  // namespace
}  // namespace timingwheel::test
