#include <support/Effort.h>
#include <timingwheel/Duration.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <ratio>
#include <stdexcept>
#include <type_traits>

// Shows G13.

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
    EXPECT_EQ((Duration{duration<double, std::pico>{1500}}.count()), 2);
    EXPECT_EQ((Duration{duration<double, std::ratio<1, 3>>{2}}.count()), 666'666'667);
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

// Bug pattern: what is wider than 64 bits, or unsigned, wraps, or saturates before it is divided.
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

TEST(Duration, TakesCountsOf128Bits) {
    constexpr Wide kTwo64 = Wide{1} << 64;
    using Nano = duration<Wide, std::nano>;
    using Pico = duration<Wide, std::pico>;
    EXPECT_EQ(Duration{Nano{kTwo64}}.count(), kMax);
    EXPECT_EQ(Duration{Nano{-kTwo64}}.count(), kMin);
    EXPECT_EQ(Duration{Nano{kTwo64 / 2 - 1}}.count(), kMax);
    EXPECT_EQ(Duration{Nano{kTwo64 / 4}}.count(), std::int64_t{1} << 62);
    EXPECT_EQ(Duration{Nano{-kTwo64 / 2}}.count(), kMin);
    EXPECT_EQ((Duration{duration<Wide>{kTwo64}}.count()), kMax);
    EXPECT_EQ(Duration{Pico{kTwo64}}.count(), 18'446'744'073'709'552);
    EXPECT_EQ(Duration{Pico{-kTwo64}}.count(), -18'446'744'073'709'551);
    // Whole units fill the range, and a fraction of 1 is beyond it.
    using SevenEighths = duration<Wide, std::ratio<7, 8'000'000'000>>;
    EXPECT_EQ(Duration{SevenEighths{Wide{kMax / 7} * 8 + 1}}.count(), kMax);
    using TwoThirds = duration<Wide, std::ratio<2, 3'000'000'000>>;
    EXPECT_EQ(Duration{TwoThirds{Wide{kMin / 2} * 3 - 2}}.count(), kMin);
    EXPECT_EQ((Duration{duration<UnsignedWide, std::nano>{~UnsignedWide{0}}}.count()), kMax);
    EXPECT_EQ((Duration{duration<UnsignedWide, std::pico>{UnsignedWide{1} << 64U}}.count()),
              18'446'744'073'709'552);
    EXPECT_EQ((Duration{duration<std::uint64_t, std::pico>{UINT64_MAX}}.count()),
              18'446'744'073'709'552);
}

/// Against arithmetic that is wide enough to be exact.
template <class Ratio>
void expectExact(std::int64_t count) {
    using Factor = std::ratio_divide<Ratio, std::nano>;
    Wide const product = Wide{count} * Factor::num;
    Wide exact = product / Factor::den;
    if (product > 0 && product % Factor::den != 0) ++exact;
    if (exact > kMax) exact = kMax;
    if (exact < kMin) exact = kMin;
    ASSERT_EQ((Duration{duration<std::int64_t, Ratio>{count}}.count()),
              static_cast<std::int64_t>(exact))
        << count << " x " << Ratio::num << " / " << Ratio::den;
}

// G1. Bug pattern: a product of more than 64 bits is rounded, down as often as up.
TEST(Duration, RoundsOddRatiosUpExactly) {
    std::mt19937_64 random{7};
    for (std::size_t i = 0; i < scaled(200'000); ++i) {
        // Of every length, so that most do not saturate.
        auto const count = static_cast<std::int64_t>(random()) >> random() % 64;
        expectExact<std::ratio<999'983, 1'000'003>>(count);
        expectExact<std::ratio<1, 1'000'000'007>>(count);
        expectExact<std::ratio<1'000'000'007, 3>>(count);
        expectExact<std::ratio<1'001, 30'000>>(count);
        expectExact<std::ratio<9'223'372'035, 9'223'372'036>>(count);
        expectExact<std::pico>(count);
        expectExact<std::chrono::hours::period>(count);
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace timingwheel::test
