#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <ratio>
#include <stdexcept>
#include <type_traits>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

static_assert(sizeof(When) == 2 * sizeof(std::int64_t));
static_assert(std::is_trivially_copyable_v<When>);

// Of which types one becomes without being asked.
using SteadySeconds = std::chrono::time_point<std::chrono::steady_clock, std::chrono::seconds>;
using SteadyFractions =
    std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>>;
static_assert(std::is_convertible_v<std::chrono::hours, When>);
static_assert(std::is_convertible_v<std::chrono::duration<float, std::micro>, When>);
static_assert(std::is_convertible_v<Duration, When>);
static_assert(std::is_convertible_v<Clock::TimePoint, When>);
static_assert(std::is_convertible_v<SteadySeconds, When>);
static_assert(!std::is_convertible_v<SteadyFractions, When>);
static_assert(!std::is_convertible_v<std::chrono::system_clock::time_point, When>);
static_assert(!std::is_convertible_v<int, When>);
static_assert(!std::is_convertible_v<double, When>);
static_assert(!std::is_convertible_v<bool, When>);

TEST(When, IsADelayOrATimePoint) {
    constexpr When kDelay = 30s;
    static_assert(!kDelay.isTimePoint() && kDelay.delay().nanoseconds() == 30s);
    constexpr When kTime = Clock::TimePoint{-5ns};
    static_assert(kTime.isTimePoint() && kTime.timePoint() == Clock::TimePoint{-5ns});
    When const whole = SteadySeconds{7s};
    EXPECT_TRUE(whole.isTimePoint());
    EXPECT_EQ(whole.timePoint(), Clock::TimePoint{7s});
    EXPECT_EQ(When{SteadySeconds::max()}.timePoint(), Clock::TimePoint::max());
    EXPECT_EQ(When{SteadySeconds::min()}.timePoint(), Clock::TimePoint::min());
}

TEST(When, ChecksADelayAsDurationDoes) {
    EXPECT_EQ(When{std::chrono::hours::max()}.delay().count(), Duration::max().count());
    EXPECT_EQ((When{std::chrono::duration<std::int64_t, std::pico>{1}}.delay().count()), 1);
    EXPECT_THROW(When{std::chrono::duration<double>{std::nan("")}}, std::invalid_argument);
    EXPECT_EQ(When{Clock::TimePoint::max()}.timePoint(), Clock::TimePoint::max());
    EXPECT_EQ(When{Clock::TimePoint::min()}.timePoint(), Clock::TimePoint::min());
}

// Bug pattern: what one header declares needs another one to be complete.
static_assert(sizeof(Sleep) > 0);
#ifdef TIMINGWHEEL_STOP_TOKEN
TEST(When, AndAllElseThatSystemTimerDeclaresComesWithItsHeader) {
    SystemTimer timer;
    std::stop_source source;
    source.request_stop();
    EXPECT_TRUE(timer.sleep(1h, source.get_token()).await_ready());
    EXPECT_FALSE(timer.sleep(1h).await_ready());
    StopAfter const deadline = timer.stopAfter(1h, source.get_token());
    EXPECT_TRUE(deadline.token().stop_requested());
    EXPECT_TRUE(timer.newTimeout(untilStopped(deadline, [] {}), 1h).isCancelled());
}
#endif

}  // namespace
}  // namespace timingwheel::test
