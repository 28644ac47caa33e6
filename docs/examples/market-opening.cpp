// When people ask when it comes next: a market that opens at 9:30 in New York, from Monday to
// Friday.

#include <timingwheel/SystemTimer.h>
#include <timingwheel/calendar/scheduleByCalendar.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>

using namespace std::chrono_literals;
using timingwheel::Clock;
using timingwheel::calendar::CalendarError;
using timingwheel::calendar::CalendarExpression;
using timingwheel::calendar::TimeZone;

int main() {
    CalendarExpression const opening = CalendarExpression::cron("30 9 * * MON-FRI");
    TimeZone const newYork{"America/New_York"};

    // The first weeks of November 2026. Until the 1st, half past nine is 13:30 UTC.
    auto const october = std::chrono::sys_days{std::chrono::year{2026} / 10 / 29};
    for (auto const time : opening.nextTimes(4, october, newYork)) {
        auto const midnight = std::chrono::floor<std::chrono::days>(time);
        std::chrono::year_month_day const day{midnight};
        std::chrono::hh_mm_ss const clock{time - midnight};
        std::printf("%02u-%02u %02d:%02d UTC\n", static_cast<unsigned>(day.month()),
                    static_cast<unsigned>(day.day()), static_cast<int>(clock.hours().count()),
                    static_cast<int>(clock.minutes().count()));
    }

    // Under Clock::wall() it opens at half past nine, whatever the clock is set to meanwhile.
    timingwheel::SystemTimer timer{{.clock = Clock::wall()}};
    timingwheel::Timeout const bell = scheduleByCalendar(
        timer, [] { std::puts("~ the market is open"); }, opening, newYork);
    if (bell.isPending()) std::puts("from now on it opens by itself");

    // What is not understood says where.
    try {
        static_cast<void>(CalendarExpression::cron("30 9 * * MON-FRY"));
    } catch (CalendarError const& error) {
        std::puts(error.what());
    }
    // A timer that counts from when the machine was started has no calendar.
    timingwheel::SystemTimer steady{{.name = "steady"}};
    try {
        scheduleByCalendar(
            steady, [] {}, opening, newYork);
    } catch (std::invalid_argument const& error) {
        std::puts(error.what());
    }
}
