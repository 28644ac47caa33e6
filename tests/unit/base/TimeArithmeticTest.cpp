#include "core/base/TimeArithmetic.h"

#include <timingwheel/Clock.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>

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

TEST(TimeArithmetic, RoundsMillisecondsSoThatNothingIsEarly) {
    using std::chrono::sys_time;
    EXPECT_EQ(deadlineToMilliseconds(sys_time<nanoseconds>{1ns}), 1);
    EXPECT_EQ(nowToMilliseconds(sys_time<nanoseconds>{1ms - 1ns}), 0);
    EXPECT_EQ(deadlineToMilliseconds(sys_time<nanoseconds>{-1ns}), 0);
    EXPECT_EQ(nowToMilliseconds(sys_time<nanoseconds>{-1ns}), -1);
    EXPECT_EQ(deadlineToMilliseconds(sys_time<nanoseconds>{2ms}), 2);
    EXPECT_EQ(nowToMilliseconds(sys_time<nanoseconds>{2ms}), 2);
}

}  // namespace
}  // namespace timingwheel::detail
