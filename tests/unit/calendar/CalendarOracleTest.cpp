// A slow and obvious oracle: it walks the local times of a zone around the changes of its clocks.

#include "unit/calendar/LocalTimes.h"

#include <support/Effort.h>
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

/// A random expression: its text, and the values that its fields name.
struct Random {
    std::string text;
    std::set<int> minutes, hours, weekdays;
    bool isInterval = false;

    explicit Random(std::mt19937& random) {
        text = field(random, minutes, 60) + " " + field(random, hours, 24) + " * * ";
        bool const wasInterval = isInterval;
        text += field(random, weekdays, 7);
        isInterval = wasInterval;
    }

    std::string field(std::mt19937& random, std::set<int>& values, int size) {
        auto const below = [&random](int n) {
            return static_cast<int>(random() % static_cast<unsigned>(n));
        };
        int const kind = below(4);
        if (kind == 0 && size > 7) {
            int const step = 1 + below(size / 2);
            for (int value = 0; value < size; value += step) {
                values.insert(value);
            }
            isInterval = true;
            return "*/" + std::to_string(step);
        }
        std::string written;
        for (int i = kind == 1 && size > 7 ? 1 : 4; i > 0; --i) {
            // The clocks mostly change early in the night.
            int const value = below(size == 24 && below(2) == 0 ? 4 : size);
            values.insert(value);
            written += (written.empty() ? "" : ",") + std::to_string(value);
        }
        return written;
    }

    [[nodiscard]] bool matches(std::int64_t local) const {
        std::int64_t const ofDay = (local % kDay + kDay) % kDay;
        std::int64_t const weekday = (((local - ofDay) / kDay + 4) % 7 + 7) % 7;
        return ofDay % 60 == 0 && minutes.count(static_cast<int>(ofDay / 60 % 60)) != 0 &&
               hours.count(static_cast<int>(ofDay / 3600)) != 0 &&
               weekdays.count(static_cast<int>(weekday)) != 0;
    }
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
        if (!expression.isInterval && policy.gap == Gap::atItsEnd) {
            for (std::int64_t missing = before + 30; missing < local; missing += 30) {
                if (expression.matches(missing)) {
                    runs.insert(at);
                }
            }
        }
        before = local;
    }
    for (auto const& [local, instants] : instantsOf) {
        if (expression.isInterval || policy.overlap == Overlap::both) {
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
        auto const parsed = CalendarExpression::cron(expression.text);
        std::int64_t after = middle - 2 * kDay;
        for (auto run = runs.upper_bound(after); run != runs.end() && *run < middle + 2 * kDay;
             ++run) {
            auto const found = parsed.next(sys_seconds{seconds{after}}, zone, policy);
            ASSERT_TRUE(found) << expression.text;
            ASSERT_EQ(found->time_since_epoch().count(), *run)
                << expression.text << " in " << zone.name() << " after " << after << ", gap "
                << static_cast<int>(policy.gap) << ", overlap " << static_cast<int>(policy.overlap);
            after = *run;
        }
        auto const later = parsed.next(sys_seconds{seconds{after}}, zone, policy);
        ASSERT_TRUE(later && later->time_since_epoch().count() >= middle + 2 * kDay)
            << expression.text << " in " << zone.name() << " comes after " << after;
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
    std::mt19937 random{20261123};
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
