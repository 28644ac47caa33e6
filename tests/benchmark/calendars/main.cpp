// What the next time of a calendar costs: nanoseconds, as JSON. times.py calls it.
//
// timingwheel-benchmark-calendars <how many times of each>

#include <timingwheel/calendar/CalendarExpression.h>
#include <timingwheel/calendar/TimeZone.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

using namespace timingwheel::calendar;
using std::chrono::sys_seconds;

struct Rule {
    char const* says;
    char const* expression;
    bool isOnCalendar = false;
};

constexpr Rule kRules[]{
    {"each quarter of an hour", "*/15 * * * *"},
    {"on working days, each ten minutes of eight hours", "*/10 9-16 * * MON-FRI"},
    {"at noon of the month's last day", "0 12 L * *"},
    {"on leap days that are Saturdays", "Sat *-02-29 00:00:00", true},
};
constexpr char const* kZones[]{"UTC", "Europe/Zurich"};

CalendarExpression parsed(Rule const& rule) {
    return rule.isOnCalendar ? CalendarExpression::onCalendar(rule.expression)
                             : CalendarExpression::cron(rule.expression);
}

/// Some time of the years 2026 to 2035.
std::vector<sys_seconds> someTimes(std::size_t count) {
    using namespace std::chrono;
    sys_seconds const first = sys_days{year{2026} / 1 / 1};
    sys_seconds const last = sys_days{year{2036} / 1 / 1};
    std::mt19937_64 random{1};
    std::uniform_int_distribution<std::int64_t> within{0, (last - first).count() - 1};
    std::vector<sys_seconds> times(count);
    for (sys_seconds& time : times) time = first + seconds{within(random)};
    return times;
}

template <class Work>
double nanosecondsFor(std::size_t count, Work&& work) {
    auto const begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < count; ++i) work(i);
    std::chrono::duration<double, std::nano> const taken = std::chrono::steady_clock::now() - begin;
    return taken.count() / static_cast<double>(count);
}

}  // namespace

int main(int count, char** arguments) {
    std::size_t const times = count == 2 ? std::strtoull(arguments[1], nullptr, 10) : 0;
    if (times == 0) {
        std::fprintf(stderr, "usage: %s <how many times of each>\n", arguments[0]);
        return 2;
    }
    std::vector<sys_seconds> const after = someTimes(times);
    char const* separator = "";
    std::printf("{");
    for (Rule const& rule : kRules) {
        // What is read is looked at, or the compiler might leave it out: it is the same each time.
        bool const expected = parsed(rule).runsByElapsedTime();
        double const reading = nanosecondsFor(times / 10, [&](std::size_t) {
            if (parsed(rule).runsByElapsedTime() != expected) std::abort();
        });
        std::printf("%s\n\"%s, `%s`\": {\"reading\": %.1f", separator, rule.says, rule.expression,
                    reading);
        separator = ",";
        for (char const* name : kZones) {
            CalendarExpression const expression = parsed(rule);
            TimeZone const zone{name};
            double const taken = nanosecondsFor(times, [&](std::size_t i) {
                auto const next = expression.next(after[i], zone);
                if (!next || *next <= after[i]) std::abort();
            });
            std::printf(", \"%s\": %.1f", name, taken);
        }
        std::printf("}");
    }
    std::printf("\n}\n");
}
