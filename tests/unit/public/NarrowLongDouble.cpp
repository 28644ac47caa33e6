// What a Duration of a floating count promises where a long double has 53 bits, as with Visual C++
// and on macOS on ARM64. Nothing here runs: tests/CMakeLists.txt has it compiled with such a one.

#include <timingwheel/Duration.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::duration;

#if defined(TIMINGWHEEL_NARROW_LONG_DOUBLE)
static_assert(std::numeric_limits<long double>::digits == 53);
#endif

template <class Period = std::ratio<1>>
constexpr std::int64_t of(double count) {
    return Duration{duration<double, Period>{count}}.count();
}

// Exact as long as the product is.
static_assert(Duration{1.5us}.count() == 1'500);
static_assert(of(0.5) == 500'000'000);
static_assert(of(-0.25) == -250'000'000);
static_assert(of<std::nano>(0.25) == 1);
static_assert(of<std::nano>(-0.25) == 0);
static_assert(of<std::pico>(1'500) == 2);
static_assert(of<std::ratio<1, 3>>(2) == 666'666'667);
static_assert(of<std::nano>(0x1p62) == std::int64_t{1} << 62);

// Saturates at the same edges.
static_assert(of<std::nano>(0x1p63) == Duration::max().count());
static_assert(of<std::nano>(0x1.fffffffffffffp62) == INT64_MAX - 1'023);
static_assert(of<std::nano>(-0x1p63) == INT64_MIN);
static_assert(of(1e290) == Duration::max().count());
static_assert(of(-1e290) == INT64_MIN);
static_assert(of(std::numeric_limits<double>::infinity()) == Duration::max().count());
static_assert(of(std::numeric_limits<double>::denorm_min()) == 1);

// Off by less than the 2^53rd part of it, either way.
constexpr std::int64_t kFourYears = 126'230'400'100'000'000;
static_assert(of(126'230'400.1) > kFourYears - 15 && of(126'230'400.1) < kFourYears + 15);

}  // namespace
}  // namespace timingwheel::test
