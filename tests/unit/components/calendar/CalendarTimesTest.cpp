// Calendars as a timer under the wall clock sees them.

#include "unit/components/calendar/LocalTimes.h"

#include <timingwheel/calendar/CalendarTimes.h>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using calendar::CalendarExpression;
using calendar::CalendarTimes;

using TimePoint = Clock::TimePoint;

TEST(CalendarTimes, CountsPartsOfASecond) {
    CalendarTimes const times{CalendarExpression::cron("* * * * * *")};
    TimePoint const noon = wall("2026-03-23 12:00:00");
    EXPECT_EQ(times(noon), noon + 1s);
    EXPECT_EQ(times(noon - 1ns), noon);
    EXPECT_EQ(times(noon + 1ns), noon + 1s);
    EXPECT_EQ(times(noon + 999'999'999ns), noon + 1s);
    TimePoint const before = wall("1969-07-20 20:17:40");
    EXPECT_EQ(times(before + 1ns), before + 1s);
}

TEST(CalendarTimes, EndsWhereTimePointsDo) {
    CalendarTimes const times{CalendarExpression::cron("@yearly")};
    EXPECT_EQ(times(wall("2260-06-01 00:00:00")), wall("2261-01-01 00:00:00"));
    EXPECT_EQ(times(wall("2261-06-01 00:00:00")), std::nullopt);
    EXPECT_EQ(times(TimePoint::max()), std::nullopt);
}

}  // namespace
}  // namespace timingwheel::test
