/// timingwheel-calendar: prints the next times of an expression, in its zone and in UTC.
///
/// Exit status: 0; 1 if it does not come any more; 2 for what was not understood.

#include <timingwheel/calendar/CalendarExpression.h>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>

namespace {

using namespace timingwheel::calendar;
using std::chrono::sys_seconds;

/// "Mon 2026-03-30 02:30:00"
std::string written(sys_seconds time) {
    using namespace std::chrono;
    constexpr char const* kWeekdays[]{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    auto const midnight = floor<days>(time);
    year_month_day const date{midnight};
    hh_mm_ss const clock{time - midnight};
    char text[64];
    std::snprintf(text, sizeof text, "%s %04d-%02u-%02u %02d:%02d:%02d",
                  kWeekdays[weekday{midnight}.c_encoding()], static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<int>(clock.hours().count()),
                  static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()));
    return text;
}

std::string writtenOffset(std::chrono::seconds offset) {
    long long const seconds = offset.count() < 0 ? -offset.count() : offset.count();
    char text[32];
    std::snprintf(text, sizeof text, "%c%02lld:%02lld", offset.count() < 0 ? '-' : '+',
                  seconds / 3600, seconds / 60 % 60);
    return text;
}

/// "2026-03-29", with or without " 00:30" and ":15"; UTC.
sys_seconds readTime(std::string const& text) {
    using namespace std::chrono;
    int y = 0;
    unsigned month = 0, day = 0, hour = 0, minute = 0, second = 0;
    // How far it was read after the day, the minute and the second.
    int ends[3]{};
    int const count = std::sscanf(text.c_str(), "%4d-%2u-%2u%n%*1[ T]%2u:%2u%n:%2u%n", &y, &month,
                                  &day, &ends[0], &hour, &minute, &ends[1], &second, &ends[2]);
    int const end = count == 3 ? ends[0] : count == 5 ? ends[1] : count == 6 ? ends[2] : 0;
    year_month_day const date{year{y}, std::chrono::month{month}, std::chrono::day{day}};
    if (end == 0 || static_cast<std::size_t>(end) != text.size() || !date.ok() || hour > 23 ||
        minute > 59 || second > 59) {
        throw std::invalid_argument{"--after needs YYYY-MM-DD HH:MM:SS in UTC, not \"" + text +
                                    "\""};
    }
    return sys_days{date} + hours{hour} + minutes{minute} + seconds{second};
}

int run(int count, char** arguments) {
    CLI::App app{"Prints the next times of a cron expression, or of systemd's OnCalendar."};
    bool isOnCalendar = false;
    std::size_t times = 10;
    std::string after, expression, zoneName = "UTC";
    CalendarPolicy policy;
    app.add_flag("--onCalendar", isOnCalendar, "the expression is systemd's OnCalendar");
    app.add_option("-n", times, "how many times")->check(CLI::Range(1, 1000000));
    app.add_option("--after", after, "later than this time in UTC, instead of now");
    app.add_option("--gap", policy.gap, "what becomes of local times that do not exist")
        ->transform(CLI::CheckedTransformer(
            std::map<std::string, Gap>{{"atItsEnd", Gap::atItsEnd}, {"skip", Gap::skip}}));
    app.add_option("--overlap", policy.overlap, "which run of a local time that comes twice")
        ->transform(CLI::CheckedTransformer(std::map<std::string, Overlap>{
            {"first", Overlap::first}, {"last", Overlap::last}, {"both", Overlap::both}}));
    app.add_option("expression", expression, "such as '*/15 9-17 * * MON-FRI'")->required();
    app.add_option("zone", zoneName, "such as Europe/Berlin")->capture_default_str();
    try {
        app.parse(count, arguments);
    } catch (CLI::ParseError const& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }

    auto const parsed = isOnCalendar ? CalendarExpression::onCalendar(expression)
                                     : CalendarExpression::cron(expression);
    TimeZone const zone = parsed.zone() ? *parsed.zone() : TimeZone{zoneName};
    sys_seconds const from =
        after.empty() ? std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now())
                      : readTime(after);
    auto const next = parsed.nextTimes(times, from, zone, policy);
    if (next.empty()) {
        std::fprintf(stderr, "timingwheel-calendar: it does not come after %s UTC\n",
                     written(from).c_str());
        return 1;
    }
    for (sys_seconds const time : next) {
        auto const offset = zone.spanAt(time).offset;
        std::printf("%s  %s  %s UTC\n", written(time + offset).c_str(),
                    writtenOffset(offset).c_str(), written(time).c_str());
    }
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        return run(count, arguments);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "timingwheel-calendar: %s\n", error.what());
        return 2;
    }
}
