#include "unit/components/calendar/LocalTimes.h"

#include <timingwheel/calendar/CalendarExpression.h>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

using namespace timingwheel::calendar;
using std::chrono::sys_seconds;

namespace {

struct Row {
    char const* expression;
    char const* after;
    std::vector<char const*> expected;
};

void expectRows(CalendarExpression (*parse)(std::string_view), std::vector<Row> const& rows,
                TimeZone const& zone = {}, CalendarPolicy policy = {}) {
    for (Row const& row : rows) {
        SCOPED_TRACE(row.expression);
        std::vector<sys_seconds> expected;
        for (char const* time : row.expected) {
            expected.push_back(utc(time));
        }
        EXPECT_EQ(parse(row.expression).nextTimes(expected.size(), utc(row.after), zone, policy),
                  expected);
    }
}

std::size_t positionOf(CalendarExpression (*parse)(std::string_view), char const* text) {
    try {
        (void)parse(text);
    } catch (CalendarError const& error) {
        return error.position();
    }
    ADD_FAILURE() << text << " is accepted";
    return std::string::npos;
}

constexpr auto kCron = &CalendarExpression::cron;
constexpr auto kOnCalendar = &CalendarExpression::onCalendar;

}  // namespace

TEST(CalendarExpression, FindsTheTimesOfCronsFields) {
    expectRows(
        kCron,
        {{"*/15 * * * *", "2026-01-01 00:00:00", {"2026-01-01 00:15", "2026-01-01 00:30"}},
         {"0 0 1 1 *", "2026-01-01 00:00:00", {"2027-01-01 00:00"}},
         {"1-30/20 9 * * *", "2026-01-01 09:01:00", {"2026-01-01 09:21", "2026-01-02 09:01"}},
         {"50/5 9 * * *", "2026-01-01 00:00:00", {"2026-01-01 09:50", "2026-01-01 09:55"}},
         {"0 22-1 * * ?",
          "2026-01-01 21:00:00",
          {"2026-01-01 22:00", "2026-01-01 23:00", "2026-01-02 00:00", "2026-01-02 01:00",
           "2026-01-02 22:00"}},
         {"30 0 12 * * *", "2026-01-01 00:00:00", {"2026-01-01 12:00:30"}},
         {"0 0 * feb,MAR *", "2026-02-27 12:00:00", {"2026-02-28 00:00", "2026-03-01 00:00"}},
         {"@weekly", "2026-11-23 00:00:00", {"2026-11-29 00:00"}}});
}

// CalendarFacts have the days that only cron's descendants know: L, W and #.
TEST(CalendarExpression, FindsCronsWeekdays) {
    expectRows(
        kCron,
        {{"0 0 * * 7", "2026-11-23 00:00:00", {"2026-11-29 00:00"}},
         {"0 0 * * 7/2",
          "2026-11-23 00:00:00",
          {"2026-11-24 00:00", "2026-11-26 00:00", "2026-11-28 00:00", "2026-11-29 00:00"}},
         {"0 0 * * SAT#1,7L", "2026-11-23 00:00:00", {"2026-11-29 00:00", "2026-12-05 00:00"}},
         {"0 0 * * FRI-MON",
          "2026-11-26 00:00:00",
          {"2026-11-27 00:00", "2026-11-28 00:00", "2026-11-29 00:00", "2026-11-30 00:00",
           "2026-12-04 00:00"}}});
}

TEST(CalendarExpression, TakesEitherOfDayAndWeekdayIfBothRestrict) {
    expectRows(
        kCron,
        {{"0 0 13 * FRI",
          "2026-11-23 00:00:00",
          {"2026-11-27 00:00", "2026-12-04 00:00", "2026-12-11 00:00", "2026-12-13 00:00"}},
         {"0 0 */2 * MON", "2026-11-01 00:00:00", {"2026-11-09 00:00", "2026-11-23 00:00"}}});
}

TEST(CalendarExpression, FindsLeapDaysOverACenturyWithoutOne) {
    expectRows(kCron, {{"0 0 29 2 *", "2096-03-01 00:00:00", {"2104-02-29 00:00"}},
                       {"0 0 29 2 */7", "2032-03-01 00:00:00", {"2060-02-29 00:00"}}});
    expectRows(kOnCalendar, {{"Sun *-02-29", "2088-03-01 00:00:00", {"2128-02-29 00:00"}}});
}

TEST(CalendarExpression, FindsTheTimesOfOnCalendar) {
    keepsZones();
    expectRows(
        kOnCalendar,
        {{"Mon..Wed 09:00", "2026-11-23 09:00:00", {"2026-11-24 09:00", "2026-11-25 09:00"}},
         {"*-*-* 12:00/20:30",
          "2026-01-01 12:00:30",
          {"2026-01-01 12:20:30", "2026-01-01 12:40:30"}},
         {"2026..2030/2-01-01", "2026-06-01 00:00:00", {"2028-01-01 00:00", "2030-01-01 00:00"}},
         {"98..02/2-01-01", "1998-06-01 00:00:00", {"2000-01-01 00:00", "2002-01-01 00:00"}},
         {"Fri *-*-13", "2026-11-23 00:00:00", {"2027-08-13 00:00"}},
         {"quarterly", "2026-11-23 00:00:00", {"2027-01-01 00:00", "2027-04-01 00:00"}},
         {"12-25 08:00 Europe/Berlin", "2026-11-23 00:00:00", {"2026-12-25 07:00"}},
         {"Mon Africa/Abidjan", "2026-11-23 00:00:00", {"2026-11-30 00:00"}},
         {"Mon Zulu", "2026-11-23 00:00:00", {"2026-11-30 00:00"}}});
}

TEST(CalendarExpression, EndsWithItsYears) {
    keepsZones();
    EXPECT_FALSE(CalendarExpression::onCalendar("2012-10-01").next(utc("2026-01-01 00:00")));
}

TEST(CalendarExpression, ShowsWhereItIsNotUnderstood) {
    keepsZones();
    EXPECT_EQ(positionOf(kCron, "60 * * * *"), 0u);
    EXPECT_EQ(positionOf(kCron, "0 0 1 FOO *"), 6u);
    EXPECT_EQ(positionOf(kCron, "0 0 * *"), 7u);
    EXPECT_EQ(positionOf(kCron, "*/0 * * * *"), 2u);
    EXPECT_EQ(positionOf(kCron, "0 0 * * L"), 8u);
    EXPECT_EQ(positionOf(kCron, ""), 0u);
    // Names are of months and weekdays only.
    EXPECT_EQ(positionOf(kCron, "JAN 0 0 * * *"), 0u);
    EXPECT_EQ(positionOf(kCron, "0 MON 0 * * *"), 2u);
    EXPECT_EQ(positionOf(kCron, "0 0 JAN * * *"), 4u);
    EXPECT_EQ(positionOf(kCron, "0 0 0 MON * *"), 6u);
    EXPECT_EQ(positionOf(kCron, "0 0 0 * MON *"), 8u);
    EXPECT_EQ(positionOf(kCron, "0 0 0 * * JAN"), 10u);
    EXPECT_EQ(positionOf(kOnCalendar, "*-*-* 12:00:00.5"), 14u);
    EXPECT_EQ(positionOf(kOnCalendar, "daily No/Where"), 6u);
    EXPECT_EQ(positionOf(kOnCalendar, "5..3:00"), 0u);
    EXPECT_EQ(positionOf(kOnCalendar, "68..71-01-01"), 0u);
}

std::string reasonOf(CalendarExpression (*parse)(std::string_view), char const* text) {
    try {
        (void)parse(text);
    } catch (CalendarError const& error) {
        return error.what();
    }
    return "accepted";
}

TEST(CalendarExpression, NamesTheValueAndItsBound) {
    EXPECT_EQ(reasonOf(kCron, "0 25 * * *"),
              "the number must be from 0 to 23, not 25\n  0 25 * * *\n    ^");
    auto const expect = [](auto parse, char const* text, char const* reason) {
        EXPECT_EQ(reasonOf(parse, text).substr(0, std::string{reason}.size() + 1),
                  std::string{reason} + "\n");
    };
    expect(kCron, "99999999999999999999 * * * *",
           "the number must be from 0 to 59, not 99999999999999999999");
    expect(kCron, "* * *", "five or six fields are expected, not 3");
    expect(kCron, "* * * * * * 2027", "at most six fields are expected, not 7");
    expect(kCron, "@often", "no shorthand is called \"@often\"");
    expect(kOnCalendar, "*:9..5", "the range ends at 5, before it begins at 9");
    expect(kOnCalendar, "68..71-01-01", "the range ends at 1971, before it begins at 2068");
    expect(kOnCalendar, "05..01-01-01", "the range ends at 2001, before it begins at 2005");
    expect(kOnCalendar, "12:5/55", "from 5 on, a repetition is at most 54");
    expect(kOnCalendar, "*-*~5/5", "from 5 on, a repetition is at most 4");
}

TEST(CalendarExpression, RefusesWhatNeverComes) {
    EXPECT_EQ(positionOf(kCron, "0 0 31 2 *"), 4u);
    EXPECT_EQ(positionOf(kCron, "0 0 30 FEB *"), 4u);
    EXPECT_EQ(positionOf(kCron, "0 0 31 4,6 *"), 4u);
    EXPECT_EQ(positionOf(kOnCalendar, "*-02-30"), 5u);
    EXPECT_EQ(positionOf(kOnCalendar, "2023-02-29"), 8u);
}

TEST(CalendarExpression, FollowsThePolicyInAGap) {
    keepsZones();
    TimeZone const berlin{"Europe/Berlin"};  // 2026-03-29 02:00 becomes 03:00, 01:00 UTC
    expectRows(kCron,
               {{"0,30 2 * * *",
                 "2026-03-28 12:00",
                 {"2026-03-29 01:00", "2026-03-30 00:00", "2026-03-30 00:30"}},
                {"0 2,3 * * *", "2026-03-28 12:00", {"2026-03-29 01:00", "2026-03-30 00:00"}}},
               berlin);
    expectRows(kCron, {{"30 2 * * *", "2026-03-28 12:00", {"2026-03-30 00:30"}}}, berlin,
               {.gap = Gap::skip});
    expectRows(kCron,
               {{"30 * * * *", "2026-03-29 00:00", {"2026-03-29 00:30", "2026-03-29 01:30"}}},
               berlin);
}

TEST(CalendarExpression, FollowsThePolicyInAnOverlap) {
    keepsZones();
    TimeZone const berlin{"Europe/Berlin"};  // 2026-10-25 03:00 becomes 02:00, 01:00 UTC
    char const* const after = "2026-10-24 12:00";
    expectRows(kCron, {{"30 2 * * *", after, {"2026-10-25 00:30", "2026-10-26 01:30"}}}, berlin);
    expectRows(kCron, {{"30 2 * * *", after, {"2026-10-25 01:30", "2026-10-26 01:30"}}}, berlin,
               {.overlap = Overlap::last});
    expectRows(
        kCron,
        {{"30 2 * * *", after, {"2026-10-25 00:30", "2026-10-25 01:30", "2026-10-26 01:30"}}},
        berlin, {.overlap = Overlap::both});
    expectRows(kCron,
               {{"*/30 2 * * *",
                 after,
                 {"2026-10-25 00:00", "2026-10-25 00:30", "2026-10-25 01:00", "2026-10-25 01:30",
                  "2026-10-26 01:00"}}},
               berlin);
}

// Bug pattern: a jump to the next match leaves out the second hour of an overlap.
TEST(CalendarExpression, DoesNotJumpOverTheSecondHourOfAnOverlap) {
    keepsZones();
    TimeZone const berlin{"Europe/Berlin"};
    expectRows(kCron,
               {{"*/30 2 * * SUN", "2026-10-25 00:30", {"2026-10-25 01:00", "2026-10-25 01:30"}}},
               berlin);
    // Also of the last match that there is.
    expectRows(kOnCalendar,
               {{"2026-10-25 02:30", "2026-10-24 12:00", {"2026-10-25 00:30", "2026-10-25 01:30"}}},
               berlin, {.overlap = Overlap::both});
}

TEST(CalendarExpression, SaysWhetherItRunsByElapsedTime) {
    EXPECT_TRUE(CalendarExpression::cron("0 * * * *").runsByElapsedTime());
    EXPECT_TRUE(CalendarExpression::cron("*/5 2 * * *").runsByElapsedTime());
    EXPECT_FALSE(CalendarExpression::cron("*/5,7 2 * * *").runsByElapsedTime());
    EXPECT_FALSE(CalendarExpression::cron("0 0-23 * * *").runsByElapsedTime());
    EXPECT_TRUE(CalendarExpression::onCalendar("*:0/15").runsByElapsedTime());
    EXPECT_TRUE(CalendarExpression::onCalendar("2:0/15").runsByElapsedTime());
    EXPECT_FALSE(CalendarExpression::onCalendar("2:00,15").runsByElapsedTime());
    EXPECT_FALSE(CalendarExpression::onCalendar("2:0/15,20").runsByElapsedTime());
    EXPECT_FALSE(CalendarExpression::onCalendar("2:10/15").runsByElapsedTime());
}

TEST(CalendarExpression, IsEmptyAtTheFarEnds) {
    keepsZones();
    using Seconds = std::chrono::seconds;
    auto const daily = CalendarExpression::cron("0 3 * * *");
    for (TimeZone const& zone : {TimeZone{}, TimeZone{"America/New_York"}}) {
        EXPECT_FALSE(daily.next(sys_seconds{Seconds::max()}, zone));
        EXPECT_TRUE(daily.next(sys_seconds{Seconds::min()}, zone));
        EXPECT_FALSE(daily.next(utc("9999-12-31 23:59:59"), zone));
    }
    EXPECT_EQ(daily.next(utc("9999-12-30 00:00:00")), utc("9999-12-30 03:00:00")) << "not yet";
    EXPECT_FALSE(daily.next(utc("9999-12-30 03:00:00"))) << "the last day has none";
    EXPECT_EQ(daily.next(utc("0001-01-01 00:00:00")), utc("0001-01-02 03:00:00")) << "the first";
}
