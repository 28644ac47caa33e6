// What other implementations' suites hold for true: expression, zone, time, and what comes next.
// Where they differ from each other, a row is left out, or has the policy that makes it true.

#include "unit/calendar/LocalTimes.h"

#include <timingwheel/calendar/CalendarExpression.h>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace timingwheel::calendar {
namespace {

constexpr CalendarPolicy kUsual{};
constexpr CalendarPolicy kSkipsGaps{Gap::skip, Overlap::first};
constexpr CalendarPolicy kBoth{Gap::atItsEnd, Overlap::both};

/// Times are UTC. `from` itself may be the next time, as these suites mostly ask.
struct Fact {
    char const* source;
    char const* expression;
    char const* zone;
    char const* from;
    char const* next;
    CalendarPolicy policy = kUsual;
};

// "robfig" is robfig/cron, spec_test.go. "Cronos" is HangfireIO/Cronos, CronExpressionFacts.cs.
// "systemd" is systemd, src/test/test-calendarspec.c.

std::vector<Fact> const kCron{
    {"robfig", "0 0/15 * * * *", "UTC", "2012-07-09 14:45:01", "2012-07-09 15:00"},
    {"robfig", "0 0/15 * * * *", "UTC", "2012-07-09 14:59:59", "2012-07-09 15:00"},
    {"robfig", "0 5/15 * * * *", "UTC", "2012-07-09 15:50", "2012-07-09 15:50"},
    {"robfig", "0 20-35/15 * * * *", "UTC", "2012-07-09 15:45", "2012-07-09 16:20"},
    {"robfig", "0 */15 * * * *", "UTC", "2012-07-09 23:46", "2012-07-10 00:00"},
    {"robfig", "0 20-35/15 * * * *", "UTC", "2012-07-09 23:45", "2012-07-10 00:20"},
    {"robfig", "15/35 20-35/15 * * * *", "UTC", "2012-07-09 23:35:52", "2012-07-10 00:20:15"},
    {"robfig", "15/35 20-35/15 1/2 * * *", "UTC", "2012-07-09 23:35:52", "2012-07-10 01:20:15"},
    {"robfig", "15/35 20-35/15 10-12 * * *", "UTC", "2012-07-09 23:35:52", "2012-07-10 10:20:15"},
    {"robfig", "15/35 20-35/15 1/2 */2 * *", "UTC", "2012-07-09 23:35:52", "2012-07-11 01:20:15"},
    {"robfig", "15/35 20-35/15 * 9-20 Jul *", "UTC", "2012-07-09 23:35:52", "2012-07-10 00:20:15"},
    {"robfig", "0 0 0 9 Apr-Oct ?", "UTC", "2012-07-09 23:35", "2012-08-09 00:00"},
    {"robfig", "0 0 0 */5 Apr,Aug,Oct Mon", "UTC", "2012-07-09 23:35", "2012-08-06 00:00"},
    {"robfig", "0 0 0 */5 Oct Mon", "UTC", "2012-07-09 23:35", "2012-10-01 00:00"},
    {"robfig", "0 0 0 * Feb Mon", "UTC", "2012-07-09 23:35", "2013-02-04 00:00"},
    {"robfig", "0 0 0 * Feb Mon/2", "UTC", "2012-07-09 23:35", "2013-02-01 00:00"},
    {"robfig", "0 * * * * *", "UTC", "2012-12-31 23:59:45", "2013-01-01 00:00"},
    {"robfig", "0 0 0 29 Feb ?", "UTC", "2012-07-09 23:35", "2016-02-29 00:00"},
    {"robfig", "0 30 08 ? Jul Sun", "UTC", "2012-07-15 08:30", "2012-07-15 08:30"},
    {"robfig", "0 30 08 15 Jul ?", "UTC", "2012-07-15 08:30", "2012-07-15 08:30"},
    {"robfig", "@weekly", "UTC", "2012-07-08 00:00", "2012-07-08 00:00"},
    {"robfig", "@monthly", "UTC", "2012-07-01 00:00", "2012-07-01 00:00"},
    {"robfig", "0 * * 1,15 * Sun", "UTC", "2012-06-15 00:00", "2012-06-15 00:00"},
    {"robfig", "0 * * 1,15 * Sun", "UTC", "2012-08-01 00:00", "2012-08-01 00:00"},
    {"robfig", "0 * * */2 * Sun", "UTC", "2012-07-15 00:00", "2012-07-15 00:00"},
    {"robfig", "0 30 2 11 Mar ?", "America/New_York", "2012-03-11 05:00", "2013-03-11 06:30",
     kSkipsGaps},
    {"robfig", "0 30 2 04 Nov ?", "America/New_York", "2012-11-04 04:00", "2012-11-04 07:30"},
    {"robfig", "0 30 1 04 Nov ?", "America/New_York", "2012-11-04 05:45", "2012-11-04 06:30",
     kBoth},

    {"Cronos", "* 5-8,19,20,35-41 * * * *", "UTC", "2016-12-09 15:42", "2016-12-09 16:05"},
    {"Cronos", "* 51-4 * * * *", "UTC", "2016-12-09 18:05", "2016-12-09 18:51"},
    {"Cronos", "* 56-4/4 * * * *", "UTC", "2016-12-09 17:57", "2016-12-09 18:00"},
    {"Cronos", "* 56-4/4 * * * *", "UTC", "2016-12-09 18:05", "2016-12-09 18:56"},
    {"Cronos", "* * 23-3/2 * * *", "UTC", "2016-12-09 00:30", "2016-12-09 01:00"},
    {"Cronos", "* * 23-3/2 * * *", "UTC", "2016-12-09 04:00", "2016-12-09 23:00"},
    {"Cronos", "* * * 5-8,19,20,28-29 * *", "UTC", "2016-12-30 00:00", "2017-01-05 00:00"},
    {"Cronos", "* * * 30-31 * *", "UTC", "2017-02-27 00:00", "2017-03-30 00:00"},
    {"Cronos", "* * * 20-5/5 * *", "UTC", "2017-06-01 00:00", "2017-06-04 00:00"},
    {"Cronos", "* * * 20-5/5 * *", "UTC", "2017-06-05 00:00", "2017-06-20 00:00"},
    {"Cronos", "* * * * 2-4,JUN,7,SEP-nov *", "UTC", "2016-12-01 00:00", "2017-02-01 00:00"},
    {"Cronos", "* * * * 12-2 *", "UTC", "2017-03-19 00:00", "2017-12-01 00:00"},
    {"Cronos", "* * * * 9-8/3 *", "UTC", "2017-01-19 00:00", "2017-03-01 00:00"},
    {"Cronos", "* * * * * 3,5,7", "UTC", "2016-12-10 00:00", "2016-12-11 00:00"},
    {"Cronos", "* * * * * tue/2", "UTC", "2016-12-09 00:00", "2016-12-10 00:00"},
    {"Cronos", "* * * * * */5", "UTC", "2016-12-10 00:00", "2016-12-11 00:00"},
    {"Cronos", "* * * ? * sat-tue/2", "UTC", "2016-12-13 00:00", "2016-12-17 00:00"},
    {"Cronos", "* * * L * *", "UTC", "2016-02-05 00:00", "2016-02-29 00:00"},
    {"Cronos", "* * * L * *", "UTC", "2099-12-05 00:00", "2099-12-31 00:00"},
    {"Cronos", "* * * L-1 * *", "UTC", "2016-01-31 00:00", "2016-02-28 00:00"},
    {"Cronos", "* * * L-2 * *", "UTC", "2017-02-01 00:00", "2017-02-26 00:00"},

    // The clocks go forward.
    {"Cronos", "0 */30 * * * *", "America/New_York", "2016-03-13 06:45", "2016-03-13 07:00"},
    {"Cronos", "0 0,30 2 * * *", "America/New_York", "2016-03-13 06:59", "2016-03-13 07:00"},
    {"Cronos", "0 30 2 * * *", "America/New_York", "2016-03-12 07:30:01", "2016-03-13 07:00"},
    {"Cronos", "0 0,30 02 13 03 *", "America/New_York", "2016-03-13 06:45", "2016-03-13 07:00"},
    {"Cronos", "0 0,59 * * * *", "America/New_York", "2016-03-13 06:59:01", "2016-03-13 07:00"},
    {"Cronos", "30 0 L * *", "Asia/Amman", "2017-03-30 21:59:59", "2017-03-30 22:00"},
    {"Cronos", "0 0,30 2 * * *", "Australia/Lord_Howe", "2017-09-30 15:29", "2017-09-30 15:30"},
    {"Cronos", "0 30 2 * * *", "Australia/Lord_Howe", "2017-09-30 15:29", "2017-09-30 15:30"},
    {"Cronos", "0 30 * * 10 SUN#1", "Australia/Lord_Howe", "2017-09-30 15:29", "2017-09-30 15:30"},

    // The clocks go back.
    {"Cronos", "0 0 */2 * * *", "America/New_York", "2016-11-06 04:30", "2016-11-06 07:00"},
    {"Cronos", "0 0 2-3 * * *", "America/New_York", "2016-11-06 04:30", "2016-11-06 07:00"},
    {"Cronos", "0 */30 * * * *", "America/New_York", "2016-11-06 05:30:01", "2016-11-06 06:00"},
    {"Cronos", "0 */30 * * * *", "America/New_York", "2016-11-06 06:30:01", "2016-11-06 07:00"},
    {"Cronos", "0 30 * * * *", "America/New_York", "2016-11-06 05:30:01", "2016-11-06 06:30"},
    {"Cronos", "0 30 */1 * * *", "America/New_York", "2016-11-06 05:30:01", "2016-11-06 06:30"},
    {"Cronos", "0 */30 1 * * *", "America/New_York", "2016-11-06 05:30:01", "2016-11-06 06:00"},
    {"Cronos", "0 0,30 1 * * *", "America/New_York", "2016-11-06 05:30:01", "2016-11-07 06:00"},
    {"Cronos", "0 0 1 * * *", "America/New_York", "2016-11-06 05:00:01", "2016-11-07 06:00"},
    {"Cronos", "0 0 1 6 11 *", "America/New_York", "2015-11-07 06:00", "2016-11-06 05:00"},
    {"Cronos", "0 0 1 * 11 SUN#1", "America/New_York", "2015-11-01 06:00", "2016-11-06 05:00"},
    {"Cronos", "0 0 2 * * *", "America/New_York", "2016-11-06 05:45", "2016-11-06 07:00"},
    {"Cronos", "59 59 01 * * *", "America/New_York", "2016-11-06 07:00", "2016-11-07 06:59:59"},
    {"Cronos", "30 23 * * *", "America/Santiago", "2017-05-14 02:59:59", "2017-05-15 03:30"},
    {"Cronos", "0 30 * * * *", "Australia/Lord_Howe", "2017-04-01 14:59", "2017-04-01 15:00"},
    {"Cronos", "0 0 2-3 * * *", "Australia/Lord_Howe", "2017-04-01 13:30", "2017-04-01 15:30"},
    {"Cronos", "0 30 1 * * *", "Australia/Lord_Howe", "2017-04-01 15:00", "2017-04-02 15:00"},
};

std::vector<Fact> const kOnCalendar{
    {"systemd", "2016-03-27 03:17:00", "UTC", "1970-01-01 00:00", "2016-03-27 03:17"},
    {"systemd", "2016-03-27 03:17:00", "CET", "1970-01-01 00:00", "2016-03-27 01:17"},
    {"systemd", "2016-03-27 03:17:00", "EET", "1970-01-01 00:00", nullptr, kSkipsGaps},
    {"systemd", "2016-03-27 03:17:00 UTC", "CET", "1970-01-01 00:00", "2016-03-27 03:17"},
    {"systemd", "2016-03-27 03:17:00 UTC", "EET", "1970-01-01 00:00", "2016-03-27 03:17"},
    {"systemd", "Sun 16:00:00", "CET", "2016-02-21 08:00", "2016-02-21 15:00"},
    {"systemd", "2016-02~01 UTC", "UTC", "1970-01-01 00:00", "2016-02-29 00:00"},
    {"systemd", "Mon 2017-05~01..07 UTC", "UTC", "1970-01-01 00:00", "2017-05-29 00:00"},
    {"systemd", "Mon 2017-05~07/1 UTC", "UTC", "1970-01-01 00:00", "2017-05-29 00:00"},
};

using Parse = CalendarExpression (*)(std::string_view);

void expectFacts(Parse parse, std::vector<Fact> const& facts) {
    keepsZones();
    for (Fact const& fact : facts) {
        SCOPED_TRACE(std::string{fact.source} + ": " + fact.expression + " in " + fact.zone +
                     " from " + fact.from);
        auto const found =
            parse(fact.expression)
                .next(utc(fact.from) - std::chrono::seconds{1}, TimeZone{fact.zone}, fact.policy);
        if (fact.next == nullptr) {
            EXPECT_FALSE(found);
            continue;
        }
        ASSERT_TRUE(found);
        EXPECT_EQ((*found - utc(fact.next)).count(), 0);
    }
}

TEST(CalendarFacts, OfCronsHold) { expectFacts(&CalendarExpression::cron, kCron); }

TEST(CalendarFacts, OfSystemdsOnCalendarHold) {
    expectFacts(&CalendarExpression::onCalendar, kOnCalendar);
}

TEST(CalendarFacts, WhatSystemdTakesForTheSameIsTheSame) {
    struct Pair {
        char const* one;
        char const* other;
    };
    keepsZones();
    auto const begin = utc("2003-01-01 00:00");
    for (auto const& [one, other] :
         {Pair{"Sat,Thu,Mon-Wed,Sat-Sun", "Mon..Thu,Sat,Sun *-*-* 00:00:00"},
          Pair{"Sat,Thu,Mon..Wed,Sat..Sun", "Mon..Thu,Sat,Sun *-*-* 00:00:00"},
          Pair{"Mon,Sun 12-*-* 2,1:23", "Mon,Sun 2012-*-* 01,02:23:00"},
          Pair{"Wed *-1", "Wed *-*-01 00:00:00"},
          Pair{"Wed-Wed,Wed *-1", "Wed *-*-01 00:00:00"},
          Pair{"Wed, 17:48", "Wed *-*-* 17:48:00"},
          Pair{"Wed..Sat,Tue 12-10-16 1:2:3", "Tue..Sat 2012-10-16 01:02:03"},
          Pair{"*-*-7 0:0:0", "*-*-07 00:00:00"},
          Pair{"10-15", "*-10-15 00:00:00"},
          Pair{"monday *-12-* 17:00", "Mon *-12-* 17:00:00"},
          Pair{"Mon,Fri *-*-3,1,2 *:30:45", "Mon,Fri *-*-01,02,03 *:30:45"},
          Pair{"12,14,13,12:20,10,30", "*-*-* 12,13,14:10,20,30:00"},
          Pair{"mon,fri *-1/2-1,3 *:30:45", "Mon,Fri *-01/2-01,03 *:30:45"},
          Pair{"03-05 08:05:40", "*-03-05 08:05:40"},
          Pair{"08:05:40", "*-*-* 08:05:40"},
          Pair{"05:40", "*-*-* 05:40:00"},
          Pair{"Sat,Sun 12-05 08:05:40", "Sat,Sun *-12-05 08:05:40"},
          Pair{"2003-03-05 05:40", "2003-03-05 05:40:00"},
          Pair{"hourly", "*-*-* *:00:00"},
          Pair{"daily", "*-*-* 00:00:00"},
          Pair{"monthly", "*-*-01 00:00:00"},
          Pair{"weekly", "Mon *-*-* 00:00:00"},
          Pair{"minutely", "*-*-* *:*:00"},
          Pair{"quarterly", "*-01,04,07,10-01 00:00:00"},
          Pair{"semi-annually", "*-01,07-01 00:00:00"},
          Pair{"annually", "*-01-01 00:00:00"},
          Pair{"*:2/3", "*-*-* *:02/3:00"},
          Pair{"2015-10-25 01:00:00 uTc", "2015-10-25 01:00:00 UTC"},
          Pair{"9..11,13:00,30", "*-*-* 09,10,11,13:00,30:00"},
          Pair{"1..3-1..3 1..3:1..3", "*-01,02,03-01,02,03 01,02,03:01,02,03:00"},
          Pair{"*-*~1 Utc", "*-*~01 00:00:00 UTC"},
          Pair{"*-*~05,3 ", "*-*~03,05 00:00:00"},
          Pair{"*-*~* 00:00:00", "*-*-* 00:00:00"},
          Pair{"Monday", "Mon *-*-* 00:00:00"}}) {
        auto const times = CalendarExpression::onCalendar(one).nextTimes(50, begin);
        EXPECT_FALSE(times.empty()) << one;
        EXPECT_EQ(times, CalendarExpression::onCalendar(other).nextTimes(50, begin)) << one;
    }
}

TEST(CalendarFacts, WhatTheyRefuseIsRefused) {
    for (char const* const expression : {"0 0 0 30 Feb ?", "0 0 0 31 Apr ?"})
        EXPECT_THROW((void)CalendarExpression::cron(expression), CalendarError) << expression;
    for (char const* const expression :
         {"test", " utc", "    ", "", "7", "121212:1:2", "2000-03-05.23 00:00:00",
          "2000-03-05 00:00.1:00", "2016~11-22", "*-*~5/5", "*-04-31"})
        EXPECT_THROW((void)CalendarExpression::onCalendar(expression), CalendarError) << expression;
}

}  // namespace
}  // namespace timingwheel::calendar
