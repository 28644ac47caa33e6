#include <timingwheel/Duration.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ratio>
#include <stdexcept>
#include <type_traits>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::duration;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// G13: known at compile time, too.
static_assert(Duration{}.count() == 0);
static_assert(Duration{1ms}.count() == 1'000'000);
static_assert(Duration{-3s}.count() == -3'000'000'000);
static_assert(Duration{1.5us}.count() == 1500);
static_assert(Duration::max().count() == kMax);
static_assert(Duration::max().nanoseconds() == std::chrono::nanoseconds::max());
static_assert(std::is_convertible_v<std::chrono::hours, Duration>);
static_assert(!std::is_convertible_v<int, Duration>);

TEST(Duration, SaturatesWhatIsOutOfRange) {
    EXPECT_EQ(Duration{std::chrono::hours::max()}.count(), kMax);
    EXPECT_EQ(Duration{std::chrono::hours::min()}.count(), kMin);
    EXPECT_EQ(Duration{std::chrono::microseconds::max()}.count(), kMax);
    EXPECT_EQ(Duration{std::chrono::microseconds::min()}.count(), kMin);
    EXPECT_EQ(Duration{std::chrono::nanoseconds::min()}.count(), kMin);
    EXPECT_EQ((Duration{duration<std::uint64_t, std::nano>{UINT64_MAX}}.count()), kMax);
    EXPECT_EQ((Duration{duration<std::uint64_t>{UINT64_MAX}}.count()), kMax);
    EXPECT_EQ((Duration{duration<std::uint32_t>{UINT32_MAX}}.count()),
              4294967295LL * 1'000'000'000);
    EXPECT_EQ((Duration{std::chrono::years{1'000}}.count()), kMax);
    EXPECT_EQ((Duration{std::chrono::years{-1'000}}.count()), kMin);
    EXPECT_EQ(Duration{duration<double>{1e300}}.count(), kMax);
    EXPECT_EQ(Duration{duration<double>{-1e300}}.count(), kMin);
    EXPECT_EQ(Duration{duration<double>{std::numeric_limits<double>::infinity()}}.count(), kMax);
    EXPECT_EQ(Duration{duration<float>{-std::numeric_limits<float>::infinity()}}.count(), kMin);
    EXPECT_EQ(Duration{duration<long double>{std::numeric_limits<long double>::max()}}.count(),
              kMax);
}

TEST(Duration, IsExactAtTheEdgesOfItsRange) {
    EXPECT_EQ(Duration{std::chrono::microseconds{kMax / 1000}}.count(), kMax / 1000 * 1000);
    EXPECT_EQ(Duration{std::chrono::microseconds{kMax / 1000 + 1}}.count(), kMax);
    EXPECT_EQ(Duration{std::chrono::microseconds{kMin / 1000}}.count(), kMin / 1000 * 1000);
    EXPECT_EQ(Duration{std::chrono::microseconds{kMin / 1000 - 1}}.count(), kMin);
    for (int k = 0; k < 63; ++k) {
        std::int64_t const power = std::int64_t{1} << k;
        EXPECT_EQ(Duration{std::chrono::nanoseconds{power}}.count(), power);
        EXPECT_EQ((Duration{duration<double, std::nano>{static_cast<double>(power)}}.count()),
                  power);
        EXPECT_EQ((Duration{duration<double, std::nano>{-static_cast<double>(power)}}.count()),
                  -power);
    }
}

TEST(Duration, RoundsFractionsOfANanosecondUp) {
    using Pico = duration<std::int64_t, std::pico>;
    EXPECT_EQ(Duration{Pico{1}}.count(), 1);
    EXPECT_EQ(Duration{Pico{1000}}.count(), 1);
    EXPECT_EQ(Duration{Pico{1001}}.count(), 2);
    EXPECT_EQ(Duration{Pico{-1}}.count(), 0);
    EXPECT_EQ(Duration{Pico{-1999}}.count(), -1);
    EXPECT_EQ(Duration{Pico::max()}.count(), kMax / 1000 + 1);
    EXPECT_EQ(Duration{Pico::min()}.count(), kMin / 1000);
    EXPECT_EQ((Duration{duration<double, std::nano>{0.25}}.count()), 1);
    EXPECT_EQ((Duration{duration<double, std::nano>{-0.25}}.count()), 0);
    EXPECT_EQ((Duration{duration<double, std::nano>{-1.5}}.count()), -1);
    EXPECT_EQ((Duration{duration<float>{1e-30F}}.count()), 1);
    EXPECT_EQ((Duration{duration<double>{std::numeric_limits<double>::denorm_min()}}.count()), 1);
}

TEST(Duration, TakesUnitsThatNanosecondsDoNotDivide) {
    using Third = duration<std::int64_t, std::ratio<1, 3>>;
    EXPECT_EQ(Duration{Third{3}}.count(), 1'000'000'000);
    EXPECT_EQ(Duration{Third{1}}.count(), 333'333'334);
    EXPECT_EQ(Duration{Third{-1}}.count(), -333'333'333);
    EXPECT_EQ(Duration{Third{10}}.count(), 3'333'333'334);
    EXPECT_EQ(Duration{Third::max()}.count(), kMax);
    EXPECT_EQ(Duration{Third::min()}.count(), kMin);
}

// Bug pattern: the last fraction below the range overflows.
TEST(Duration, SaturatesTheLastFractionBelowItsRange) {
    using Seventh = duration<std::int64_t, std::ratio<1, 7>>;
    constexpr std::int64_t kSeconds = kMax / 1'000'000'000;
    EXPECT_EQ(Duration{Seventh{-kSeconds * 7 - 6}}.count(), kMin);
    EXPECT_EQ(Duration{Seventh{kSeconds * 7 + 6}}.count(), kMax);
}

TEST(Duration, RefusesNaN) {
    EXPECT_THROW((Duration{duration<double>{std::nan("")}}), std::invalid_argument);
    EXPECT_THROW((Duration{duration<float, std::milli>{std::nanf("")}}), std::invalid_argument);
}

}  // namespace
}  // namespace timingwheel::test
