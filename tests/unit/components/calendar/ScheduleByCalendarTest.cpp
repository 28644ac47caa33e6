// Timers by calendar: what runs when, also where clocks change and where people set them.

#include "unit/components/calendar/LocalTimes.h"

#include <support/Effort.h>
#include <support/Figure.h>
#include <support/TestTimers.h>
#include <timingwheel/StopToken.h>
#include <timingwheel/calendar/scheduleByCalendar.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <initializer_list>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using calendar::CalendarExpression;
using calendar::CalendarPolicy;
using calendar::CalendarTimes;
using calendar::TimeZone;
using std::chrono::sys_seconds;

using TimePoint = Clock::TimePoint;
using Instants = std::vector<sys_seconds>;

sys_seconds secondsOf(TimePoint time) {
    return std::chrono::floor<std::chrono::seconds>(Clock::systemTime(time));
}

Instants instants(std::vector<char const*> const& times) {
    Instants all;
    for (char const* time : times) all.push_back(utc(time));
    return all;
}

class ScheduleByCalendar : public testing::Test {
protected:
    ScheduleByCalendar() { keepsZones(); }

    auto note() {
        return [this] { runs.push_back(secondsOf(clock.now())); };
    }

    ManualClock clock{wall("2026-03-23 12:00:00"), Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    Instants runs;
};

TEST_F(ScheduleByCalendar, RunsEveryMondayAtNineInZurich) {
    Timeout const reports = scheduleByCalendar(timer, note(), "0 9 * * MON", "Europe/Zurich");
    EXPECT_EQ(reports.deadline(), wall("2026-03-30 07:00:00"));
    clock.advance(21 * 24h);
    EXPECT_EQ(runs, instants({"2026-03-30 07:00:00", "2026-04-06 07:00:00", "2026-04-13 07:00:00"}))
        << "summer time began on the 29th";
    EXPECT_TRUE(reports.cancel());
    clock.advance(21 * 24h);
    EXPECT_EQ(runs.size(), 3U);
}

TEST_F(ScheduleByCalendar, ReadsSystemdsExpressions) {
    scheduleByCalendar(timer, note(),
                       CalendarExpression::onCalendar("Mon..Fri *-*-* 18:30:15 America/New_York"));
    clock.advance(3 * 24h);
    EXPECT_EQ(runs,
              instants({"2026-03-23 22:30:15", "2026-03-24 22:30:15", "2026-03-25 22:30:15"}));
}

// The night in which Berlin has no half past two, and the one in which it comes twice.
TEST_F(ScheduleByCalendar, FollowsThePolicyWhereClocksChange) {
    using calendar::Gap;
    using calendar::Overlap;
    auto const half = CalendarExpression::cron("30 2 * * *");
    TimeZone const berlin{"Europe/Berlin"};
    Instants skipped;
    Instants both;
    scheduleByCalendar(timer, note(), half, berlin);
    scheduleByCalendar(timer, [&] { skipped.push_back(secondsOf(clock.now())); }, half, berlin,
                       {.gap = Gap::skip});
    clock.advanceTo(wall("2026-03-30 12:00:00"));
    EXPECT_EQ(runs.at(5), utc("2026-03-29 01:00:00")) << "at the end of the gap";
    EXPECT_EQ(runs.size(), 7U);
    EXPECT_EQ(skipped.size(), 6U);
    clock.advanceTo(wall("2026-10-25 00:00:00"));
    runs.clear();
    scheduleByCalendar(timer, [&] { both.push_back(secondsOf(clock.now())); }, half, berlin,
                       {.overlap = Overlap::both});
    clock.advance(24h);
    EXPECT_EQ(runs, instants({"2026-10-25 00:30:00"}));
    EXPECT_EQ(both, instants({"2026-10-25 00:30:00", "2026-10-25 01:30:00"}));
}

TEST_F(ScheduleByCalendar, TreatsMissedRunsAsPeriodicTasksDo) {
    Instants caughtUp;
    scheduleByCalendar(timer, note(), "0 * * * *");
    scheduleByCalendar(
        timer, [&] { caughtUp.push_back(secondsOf(clock.now())); }, "0 * * * *", "UTC", {},
        MissedTicks::catchUp);
    clock.jump(2h + 30min);  // the machine slept
    clock.advance(30min);
    EXPECT_EQ(runs, instants({"2026-03-23 14:30:00", "2026-03-23 15:00:00"}));
    EXPECT_EQ(caughtUp,
              instants({"2026-03-23 14:30:00", "2026-03-23 14:30:00", "2026-03-23 15:00:00"}));
}

TEST_F(ScheduleByCalendar, EndsWithTheCalendar) {
    Timeout const series = scheduleByCalendar(
        timer, note(), CalendarExpression::onCalendar("2026,2027-12-31 23:59:59"));
    clock.advance(24h * 365 * 3);
    EXPECT_EQ(runs, instants({"2026-12-31 23:59:59", "2027-12-31 23:59:59"}));
    EXPECT_TRUE(series.isExpired());
}

TEST_F(ScheduleByCalendar, TakesAStopToken) {
    std::stop_source source;
    Timeout const series =
        scheduleByCalendar(timer, untilStopped(source.get_token(), note()), "@hourly");
    clock.advance(90min);
    source.request_stop();
    clock.advance(90min);
    EXPECT_EQ(runs.size(), 1U);
    EXPECT_TRUE(series.isCancelled());
}

TEST_F(ScheduleByCalendar, RefusesWhatItCannotDo) {
    auto const message = [&](std::function<void()> const& call) {
        try {
            call();
        } catch (std::invalid_argument const& error) {
            EXPECT_EQ(timer.pendingTimeouts(), 0U);
            return std::string{error.what()};
        }
        return std::string{"accepted"};
    };
    ManualTimer steady{{.name = "steady"}};
    EXPECT_EQ(message([&] {
                  scheduleByCalendar(
                      steady, [] {}, "@daily");
              }),
              "the clock of timer \"steady\" is not a wall clock: it must be of Clock::Kind::wall");
    EXPECT_NE(message([&] {
                  scheduleByCalendar(
                      timer, [] {}, "0 25 * * *");
              }).find("25"),
              std::string::npos);
    EXPECT_THROW(scheduleByCalendar(
                     timer, [] {}, "0 0 31 2 *"),
                 calendar::CalendarError);
    EXPECT_NE(message([&] {
                  scheduleByCalendar(
                      timer, [] {}, "@daily", "Mars/Base");
              }).find("Mars/Base"),
              std::string::npos);
    EXPECT_EQ(message([&] {
                  scheduleByCalendar(
                      timer, [] {}, CalendarExpression::onCalendar("2025-01-01"));
              }),
              "the time that timeAfter returned is none: it must be one that is still to come: a "
              "series has at least that");
    EXPECT_NE(message([&] {
                  scheduleByCalendar(
                      timer, [] {}, "@daily", "UTC", {}, MissedTicks::shift);
              }),
              "accepted");
}

// ---- many of them, while people set the clock -------------------------------------------------

/// A calendar as its user sees it, without a wheel: the next time, and what a step makes of it.
struct Course {
    void setTo(TimePoint now, TimePoint before) {
        if (before - now > 3h) next = times(now).value();
        while (next <= now) {
            ++runs;
            next = times(next).value();
            if (next <= now && missed == MissedTicks::skip) next = times(now).value();
        }
    }

    CalendarTimes times;
    MissedTicks missed;
    TimePoint next;
    std::size_t runs = 0;
};

// G15
TEST(ScheduleByCalendarSteps, AreFollowedByAllCalendars) {
    keepsZones();
    std::vector<CalendarTimes> calendars;
    for (char const* zone : {"UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe"})
        for (char const* text :
             {"0 9 * * MON", "*/15 * * * *", "30 2 * * *", "0 0 L * *", "15 */6 * * *",
              "0 12 1 1 *", "7 10-18 * * MON-FRI", "59 23 31 12 *"})
            calendars.emplace_back(CalendarExpression::cron(text), TimeZone{zone});

    SettableClock clock{wall("2026-03-28 23:59:59"), Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    struct Entry {
        Course expected;
        Timeout handle;
        std::size_t runs = 0;
        TimePoint last = TimePoint::min();
        std::size_t wrong = 0;
    };
    std::deque<Entry> entries;
    std::mt19937_64 random{seedOr(1)};
    for (std::size_t i = effort(500, 100'000); i > 0; --i) {
        CalendarTimes const& times = calendars[i % calendars.size()];
        MissedTicks const missed = i % 70 == 0 ? MissedTicks::catchUp : MissedTicks::skip;
        Entry& entry = entries.emplace_back(
            Entry{.expected = {times, missed, times(clock.now()).value()}, .handle = {}});
        entry.handle = timer.scheduleAtTimes(
            [&entry, &clock](Timeout const& self) {
                ++entry.runs;
                // Never early; and a time comes again only if the clock was corrected.
                if (clock.now() < self.deadline()) ++entry.wrong;
                entry.last = self.deadline();
            },
            times, missed);
    }
    TimePoint before = clock.now();
    using std::chrono::minutes;
    for (minutes const step :
         std::initializer_list<minutes>{61min, -30min, 100min, 25h, -2h, -5h, 24h * 31, -24h * 40,
                                        10h, -10h, 24h * 240, 1h, -181min, 24h * 90}) {
        clock.set(clock.now() + step + std::chrono::seconds{random() % 60});
        while (timer.advanceTo(clock.now())) {
        }
        while (timer.nextExpiration() <= clock.now()) timer.advanceTo(clock.now());
        std::size_t different = 0;
        for (Entry& entry : entries) {
            entry.expected.setTo(clock.now(), before);
            different +=
                entry.runs != entry.expected.runs || entry.handle.deadline() != entry.expected.next
                    ? 1U
                    : 0U;
        }
        before = clock.now();
        EXPECT_EQ(different, 0U) << "after a step of " << step.count() << " minutes";
        EXPECT_EQ(timer.pendingTimeouts(), entries.size());
        timer.checkInvariants();
    }
    std::size_t wrong = 0;
    std::size_t runs = 0;
    for (Entry const& entry : entries) {
        wrong += entry.wrong;
        runs += entry.runs;
    }
    EXPECT_GT(runs, entries.size());
    figure("G15", "runs of calendars that were early while a wall clock was set", wrong, exactly(0),
           {entries.size(), 100'000});
}

}  // namespace
}  // namespace timingwheel::test
