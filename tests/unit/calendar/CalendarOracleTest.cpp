// A slow and obvious oracle: it walks the local times of a zone around the changes of its clocks.

#include "unit/calendar/LocalTimes.h"

#include <support/Effort.h>
#include <support/TestTimers.h>
#include <timingwheel/calendar/CalendarExpression.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace timingwheel::calendar;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using timingwheel::test::isAtLength;

namespace {

constexpr std::int64_t kDay = 86400;

/// What a field names, and how it is written.
struct Field {
    [[nodiscard]] bool has(std::int64_t value) const {
        return values.count(static_cast<int>(value)) != 0;
    }

    std::set<int> values;
    std::string cron;
    std::string onCalendar;
    bool isInterval = false;  ///< in the minute or the hour: it runs by elapsed time
    bool isRestricted = true;
};

/// A random expression of either kind, and what it names.
class Random {
public:
    explicit Random(std::mt19937& random)
        : random_{random},
          isCron_{below(2) == 0},
          seconds_{below(3) == 0 ? list(2, [](int half) { return half * 30; }) : single(0)},
          minutes_{ofTime(60)},
          hours_{ofTime(24)},
          days_{below(3) == 0 ? list(10, [this](int) { return 1 + below(28); }) : any(1, 31)},
          months_{below(4) == 0 ? list(6, [this](int) { return 1 + below(12); }) : any(1, 12)},
          weekdays_{below(3) == 0 ? any(0, 6) : list(4, [this](int) { return below(7); })} {}

    [[nodiscard]] std::string text() const {
        if (isCron_) {
            return seconds_.cron + " " + minutes_.cron + " " + hours_.cron + " " + days_.cron +
                   " " + months_.cron + " " + weekdays_.cron;
        }
        std::string names;
        for (int const day : weekdays_.values) {
            names += (names.empty() ? "" : ",") + std::string{kNames[day]};
        }
        return names + " *-" + months_.onCalendar + "-" + days_.onCalendar + " " +
               hours_.onCalendar + ":" + minutes_.onCalendar + ":" + seconds_.onCalendar;
    }
    [[nodiscard]] CalendarExpression parsed() const {
        return isCron_ ? CalendarExpression::cron(text()) : CalendarExpression::onCalendar(text());
    }
    [[nodiscard]] bool isInterval() const { return minutes_.isInterval || hours_.isInterval; }

    [[nodiscard]] bool matches(std::int64_t local) const {
        std::int64_t const ofDay = (local % kDay + kDay) % kDay;
        if (!seconds_.has(ofDay % 60) || !minutes_.has(ofDay / 60 % 60) ||
            !hours_.has(ofDay / 3600))
            return false;
        std::chrono::sys_days const midnight{std::chrono::days{(local - ofDay) / kDay}};
        std::chrono::year_month_day const date{midnight};
        bool const isDay = days_.has(static_cast<unsigned>(date.day()));
        bool const isWeekday = weekdays_.has(std::chrono::weekday{midnight}.c_encoding());
        // Vixie's rule.
        bool const isEither = isCron_ && days_.isRestricted && weekdays_.isRestricted;
        return months_.has(static_cast<unsigned>(date.month())) &&
               (isEither ? isDay || isWeekday : isDay && isWeekday);
    }

private:
    static constexpr char const* kNames[]{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

    static Field any(int first, int last) {
        Field field{.values = {}, .cron = "*", .onCalendar = "*", .isRestricted = false};
        for (int value = first; value <= last; ++value) field.values.insert(value);
        return field;
    }
    static Field single(int value) {
        return {{value}, std::to_string(value), std::to_string(value)};
    }
    /// At most `count` values, in any order, and some twice.
    template <class Value>
    static Field list(int count, Value&& value) {
        Field field;
        for (int i = 0; i < count; ++i) {
            int const next = value(i);
            field.values.insert(next);
            field.cron += (i == 0 ? "" : ",") + std::to_string(next);
        }
        field.onCalendar = field.cron;
        return field;
    }
    /// Of minutes or hours.
    Field ofTime(int size) {
        int const kind = below(5);
        if (kind == 0) {
            int const step = 1 + below(size / 2);
            Field field{.values = {},
                        .cron = "*/" + std::to_string(step),
                        .onCalendar = "0/" + std::to_string(step),
                        .isInterval = true};
            for (int value = 0; value < size; value += step) field.values.insert(value);
            return field;
        }
        // The clocks mostly change early in the night.
        return list(kind == 1 ? 1 : 4,
                    [&](int) { return below(size == 24 && below(2) == 0 ? 4 : size); });
    }

    std::mt19937& random_;
    bool isCron_;
    Field seconds_, minutes_, hours_, days_, months_, weekdays_;
};

std::vector<std::string> allZones() {
    std::vector<std::string> names;
    std::ifstream table{"/usr/share/zoneinfo/zone1970.tab"};
    for (std::string line; std::getline(table, line);) {
        std::istringstream words{line};
        std::string countries, place, name;
        if (line[0] != '#' && words >> countries >> place >> name) {
            names.push_back(name);
        }
    }
    return names;
}

/// Every half minute from three days before `middle` to three days after, and its local time.
std::map<std::int64_t, std::int64_t> walk(TimeZone const& zone, std::int64_t middle) {
    std::map<std::int64_t, std::int64_t> locals;
    auto span = zone.spanAt(sys_seconds{seconds{middle - 3 * kDay}});
    for (std::int64_t at = middle - 3 * kDay; at < middle + 3 * kDay; at += 30) {
        if (sys_seconds{seconds{at}} >= span.end) {
            span = zone.spanAt(sys_seconds{seconds{at}});
        }
        locals.emplace_hint(locals.end(), at, at + span.offset.count());
    }
    return locals;
}

std::set<std::int64_t> expectedRuns(Random const& expression, CalendarPolicy policy,
                                    std::map<std::int64_t, std::int64_t> const& locals) {
    std::set<std::int64_t> runs;
    std::map<std::int64_t, std::vector<std::int64_t>> instantsOf;
    std::int64_t before = locals.begin()->second - 30;
    for (auto const& [at, local] : locals) {
        if (expression.matches(local)) {
            instantsOf[local].push_back(at);
        }
        if (!expression.isInterval() && policy.gap == Gap::atItsEnd) {
            for (std::int64_t missing = before + 30; missing < local; missing += 30) {
                if (expression.matches(missing)) {
                    runs.insert(at);
                }
            }
        }
        before = local;
    }
    for (auto const& [local, instants] : instantsOf) {
        if (expression.isInterval() || policy.overlap == Overlap::both) {
            runs.insert(instants.begin(), instants.end());
        } else {
            runs.insert(policy.overlap == Overlap::first ? instants.front() : instants.back());
        }
    }
    return runs;
}

void expectAsWalked(TimeZone const& zone, std::int64_t middle, std::mt19937& random) {
    auto const locals = walk(zone, middle);
    for (int i = 0; i < 3; ++i) {
        Random const expression{random};
        CalendarPolicy const policy{random() % 2 == 0 ? Gap::atItsEnd : Gap::skip,
                                    static_cast<Overlap>(random() % 3)};
        auto const runs = expectedRuns(expression, policy, locals);
        auto const parsed = expression.parsed();
        std::int64_t after = middle - 2 * kDay;
        for (auto run = runs.upper_bound(after); run != runs.end() && *run < middle + 2 * kDay;
             ++run) {
            auto const found = parsed.next(sys_seconds{seconds{after}}, zone, policy);
            ASSERT_TRUE(found) << expression.text();
            ASSERT_EQ(found->time_since_epoch().count(), *run)
                << expression.text() << " in " << zone.name() << " after " << after << ", gap "
                << static_cast<int>(policy.gap) << ", overlap " << static_cast<int>(policy.overlap);
            after = *run;
        }
        auto const later = parsed.next(sys_seconds{seconds{after}}, zone, policy);
        ASSERT_TRUE(later && later->time_since_epoch().count() >= middle + 2 * kDay)
            << expression.text() << " in " << zone.name() << " comes after " << after;
    }
}

}  // namespace

/// Of so many changes one is tried. TIMINGWHEEL_CHANGES_ONE_IN=1 tries all, which takes minutes.
unsigned changesOneIn() {
    if (char const* const given = std::getenv("TIMINGWHEEL_CHANGES_ONE_IN"))
        return std::max(1U, static_cast<unsigned>(std::strtoul(given, nullptr, 10)));
    return isAtLength() ? 40 : 200;
}

TEST(CalendarOracle, AgreesAroundTheChangesOfEveryZone) {
    keepsZones();
    auto const zones = allZones();
    if (zones.empty()) {
        GTEST_SKIP() << "there is no zone1970.tab";
    }
    unsigned const oneIn = changesOneIn();
    std::mt19937 random{static_cast<unsigned>(timingwheel::test::seedOr(20261123))};
    std::int64_t const end = utc("2020-01-01 00:00").time_since_epoch().count();
    std::size_t changes = 0;
    for (std::string const& name : zones) {
        TimeZone const zone{name};
        for (std::int64_t at = 0; at < end;) {
            at = zone.spanAt(sys_seconds{seconds{at}}).end.time_since_epoch().count();
            if (at < end && random() % oneIn == 0) {
                ++changes;
                expectAsWalked(zone, at, random);
                if (HasFatalFailure()) {
                    return;
                }
            }
        }
        if (random() % std::max(1U, oneIn / 4) == 0) {
            expectAsWalked(zone, static_cast<std::int64_t>(random() % 1'500'000'000U) / 60 * 60,
                           random);
        }
    }
    RecordProperty("changes", static_cast<int>(changes));
    EXPECT_GT(changes, 20U);
}
