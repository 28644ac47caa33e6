// When work comes by the calendar: a report each night at half past two, in Berlin.

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/calendar/scheduleByCalendar.h>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;
using timingwheel::Clock;
using timingwheel::calendar::TimeZone;

int main() {
    // A program takes a SystemTimer under Clock::wall(). This clock plays a week of March 2026.
    auto const start = std::chrono::sys_days{std::chrono::year{2026} / 3 / 27} + 12h;
    timingwheel::ManualClock clock{Clock::wallTime(start), Clock::Kind::wall};
    timingwheel::ManualTimer timer{{.clock = clock}};

    TimeZone const berlin{"Europe/Berlin"};
    auto const report = [&] {
        auto const now = std::chrono::floor<std::chrono::seconds>(Clock::systemTime(clock.now()));
        auto const local = now + berlin.spanAt(now).offset;
        auto const midnight = std::chrono::floor<std::chrono::days>(local);
        std::chrono::year_month_day const day{midnight};
        std::chrono::hh_mm_ss const time{local - midnight};
        std::printf("%02u-%02u %02d:%02d a report\n", static_cast<unsigned>(day.month()),
                    static_cast<unsigned>(day.day()), static_cast<int>(time.hours().count()),
                    static_cast<int>(time.minutes().count()));
    };

    // On the 29th the clocks go from 2 to 3: there is no half past two, and the report comes at 3.
    // With {.gap = Gap::skip} it would be left out.
    timingwheel::Timeout const reports =
        scheduleByCalendar(timer, report, "30 2 * * *", "Europe/Berlin");
    clock.advance(4 * 24h);

    // The machine sleeps for two days: one report comes late, and the next at its time.
    clock.jump(2 * 24h);
    clock.advance(24h);
    reports.cancel();
}
