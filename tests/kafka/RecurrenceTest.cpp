#include "components/kafka/daemon/Recurrence.h"
#include "kafka/Records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using timingwheel::kafka::Recurrence;
using timingwheel::kafka::Refusal;

constexpr std::int64_t kMaxEvery = 864'000'000;  // ten days

std::string refusalOf(std::vector<Header> headers) {
    auto const read =
        Recurrence::read(Recurrence::headersOf(record("a", std::move(headers))), kMaxEvery);
    auto const* const refusal = std::get_if<Refusal>(&read);
    return refusal == nullptr ? "it was accepted" : refusal->reason;
}

Recurrence rule(std::vector<Header> headers) {
    auto const read =
        Recurrence::read(Recurrence::headersOf(record("a", std::move(headers))), kMaxEvery);
    return std::get<Recurrence>(read);
}

/// In milliseconds, by UTC.
std::int64_t on(std::chrono::year_month_day day, std::chrono::milliseconds time) {
    return (std::chrono::sys_days{day}.time_since_epoch() + time) / 1ms;
}

/// The first times after one, each when it is due.
std::vector<std::int64_t> timesOf(Recurrence const& recurrence, std::int64_t after, int count) {
    std::vector<std::int64_t> times;
    std::optional<std::int64_t> at = after;
    while (count-- > 0 && (at = recurrence.next(*at, *at))) times.push_back(*at);
    return times;
}

constexpr std::chrono::year_month_day kForward{2026y / 3 / 29};  // in Zurich, at 01:00 by UTC
constexpr std::chrono::year_month_day kBack{2026y / 10 / 25};    // there, too

TEST(Recurrence, HasEachHeaderOfItsRuleOnceTheRuleFirst) {
    EXPECT_THAT(
        Recurrence::headersOf(record("a", {{"timingwheel-zone", "UTC"},
                                           {"timingwheel-at", "1"},
                                           {"trace", "abc"},
                                           {"timingwheel-cron", "0 9 * * *"},
                                           {"timingwheel-cron", "0 8 * * *"}})),
        ElementsAre(Header{"timingwheel-cron", "0 8 * * *"}, Header{"timingwheel-zone", "UTC"}));
    EXPECT_TRUE(Recurrence::headersOf(schedule("a", "1")).empty());
}

TEST(Recurrence, AtEqualDistancesSkipsWhatHasPassed) {
    Recurrence const every = rule({{"timingwheel-every", "1000"}});
    EXPECT_EQ(every.next(5'200, 5'200), 6'200);
    EXPECT_EQ(every.next(5'200, 6'199), 6'200);
    EXPECT_EQ(every.next(5'200, 6'200), 7'200);
    EXPECT_EQ(every.next(5'200, 65'300), 66'200);
    EXPECT_EQ(every.next(5'200, 1'000), 6'200);  // a clock that was set back
    EXPECT_EQ(
        rule({{"timingwheel-every", "1000"}, {"timingwheel-missed", "skip"}}).next(5'200, 65'300),
        66'200);
}

TEST(Recurrence, AtEqualDistancesCatchesUp) {
    Recurrence const every =
        rule({{"timingwheel-every", "864000000"}, {"timingwheel-missed", "catch-up"}});
    EXPECT_EQ(every.next(5'200, 5'200), 864'005'200);
    EXPECT_EQ(every.next(5'200, 99'000'000'000), 864'005'200);
    EXPECT_EQ(every.next(5'200, 0), 864'005'200);
}

TEST(Recurrence, ByTheCalendarSkipsWhatHasPassedOrCatchesUp) {
    std::vector<Header> headers{{"timingwheel-cron", "0 9 * * *"}};
    std::int64_t const at = on(2026y / 6 / 1, 9h);
    EXPECT_EQ(rule(headers).next(at, at + 7), on(2026y / 6 / 2, 9h));
    EXPECT_EQ(rule(headers).next(at, on(2026y / 6 / 4, 9h - 1ms)), on(2026y / 6 / 4, 9h));
    EXPECT_EQ(rule(headers).next(at, on(2026y / 6 / 4, 9h)), on(2026y / 6 / 5, 9h));
    EXPECT_EQ(rule(headers).next(at, on(2026y / 6 / 4, 9h + 1ms)), on(2026y / 6 / 5, 9h));
    headers.push_back({"timingwheel-missed", "catch-up"});
    EXPECT_EQ(rule(headers).next(at, on(2026y / 6 / 4, 9h)), on(2026y / 6 / 2, 9h));
    // One that was pushed back goes on from there.
    EXPECT_EQ(rule(headers).next(at + 1, at + 1), on(2026y / 6 / 2, 9h));
}

TEST(Recurrence, ByTheCalendarIsUtcIfThereIsNoZone) {
    EXPECT_EQ(rule({{"timingwheel-calendar", "Mon *-*-* 09:00"}}).next(on(kBack, 0h), 0),
              on(2026y / 10 / 26, 9h));
    EXPECT_EQ(rule({{"timingwheel-cron", "0 9 * * *"}, {"timingwheel-zone", "UTC"}})
                  .next(on(kBack, 0h), 0),
              on(kBack, 9h));
}

TEST(Recurrence, ByTheCalendarFollowsTheClocksOfItsZone) {
    keepsZones();
    std::vector<Header> headers{{"timingwheel-cron", "0 9 * * *"},
                                {"timingwheel-zone", "Europe/Zurich"}};
    EXPECT_THAT(timesOf(rule(headers), on(2026y / 3 / 28, 0h), 3),
                ElementsAre(on(2026y / 3 / 28, 8h), on(kForward, 7h), on(2026y / 3 / 30, 7h)));
    EXPECT_THAT(timesOf(rule(headers), on(2026y / 10 / 24, 0h), 2),
                ElementsAre(on(2026y / 10 / 24, 7h), on(kBack, 8h)));
    EXPECT_EQ(rule({{"timingwheel-calendar", "09:00 Europe/Zurich"}}).next(on(kBack, 0h), 0),
              on(kBack, 8h));
}

TEST(Recurrence, ByTheCalendarFollowsItsPolicyInAGap) {
    keepsZones();
    std::vector<Header> headers{{"timingwheel-cron", "30 2 * * *"},
                                {"timingwheel-zone", "Europe/Zurich"},
                                {"timingwheel-gap", "at-its-end"}};
    EXPECT_EQ(rule(headers).next(on(kForward, 0h), 0), on(kForward, 1h));
    headers.back().value = "skip";
    EXPECT_EQ(rule(headers).next(on(kForward, 0h), 0), on(2026y / 3 / 30, 0h + 30min));
    headers.pop_back();
    EXPECT_EQ(rule(headers).next(on(kForward, 0h), 0), on(kForward, 1h));
}

TEST(Recurrence, ByTheCalendarFollowsItsPolicyInAnOverlap) {
    keepsZones();
    std::vector<Header> headers{{"timingwheel-cron", "30 2 * * *"},
                                {"timingwheel-zone", "Europe/Zurich"}};
    auto const times = [&] { return timesOf(rule(headers), on(kBack, 0h), 2); };
    std::int64_t const nextDay = on(2026y / 10 / 26, 1h + 30min);
    EXPECT_THAT(times(), ElementsAre(on(kBack, 30min), nextDay));
    headers.push_back({"timingwheel-overlap", "first"});
    EXPECT_THAT(times(), ElementsAre(on(kBack, 30min), nextDay));
    headers.back().value = "last";
    EXPECT_THAT(times(), ElementsAre(on(kBack, 1h + 30min), nextDay));
    headers.back().value = "both";
    EXPECT_THAT(times(), ElementsAre(on(kBack, 30min), on(kBack, 1h + 30min)));
}

TEST(Recurrence, EndsWhereTheCalendarDoes) {
    Recurrence const last = rule({{"timingwheel-calendar", "2026-06-01 09:00"}});
    EXPECT_EQ(last.next(0, 0), on(2026y / 6 / 1, 9h));
    EXPECT_EQ(last.next(on(2026y / 6 / 1, 9h), 0), std::nullopt);
}

TEST(Recurrence, TakesBoundsAndNotBeyond) {
    EXPECT_EQ(refusalOf({{"timingwheel-every", "1000"}}), "it was accepted");
    EXPECT_EQ(refusalOf({{"timingwheel-every", "864000000"}}), "it was accepted");
    for (char const* const every : {"999", "864000001", "0", "-1000", "+1000", " 1000", "1000 ", "",
                                    "1h", "1e4", "0x400", "99999999999999999999"})
        EXPECT_EQ(refusalOf({{"timingwheel-every", every}}),
                  "timingwheel-every is \"" + std::string{every} +
                      "\": it must be a whole number of milliseconds, 1000 to 864000000 "
                      "(--max-delay-days)");
    std::string const blanks(1'000, ' ');
    EXPECT_THAT(refusalOf({{"timingwheel-cron", blanks}}), HasSubstr("fields are expected"));
    std::string const longer = blanks + ' ';
    for (char const* const name : {"timingwheel-every", "timingwheel-cron", "timingwheel-calendar"})
        EXPECT_EQ(refusalOf({{name, longer}}),
                  std::string{name} + " has 1001 bytes: the most is 1000");
    EXPECT_EQ(refusalOf({{"timingwheel-cron", "@daily"}, {"timingwheel-zone", longer}}),
              "timingwheel-zone has 1001 bytes: the most is 1000");
}

TEST(Recurrence, ThatIsMalformedIsRefusedWithTheReason) {
    keepsZones();
    struct Case {
        std::vector<Header> headers;
        char const* reason;
    };
    Header const every{"timingwheel-every", "5000"};
    Header const cron{"timingwheel-cron", "0 9 * * *"};
    Header const calendar{"timingwheel-calendar", "daily"};
    std::vector<Case> const cases{
        {{{"timingwheel-cron", ""}}, "timingwheel-cron is \"\": five or six fields are expected"},
        {{{"timingwheel-cron", std::nullopt}}, "timingwheel-cron is \"\": five or six fields"},
        {{{"timingwheel-cron", "0 9 * *"}},
         "timingwheel-cron is \"0 9 * *\": five or six fields are expected, not 4, at character 8"},
        {{{"timingwheel-cron", "1 2 3 4 5 6 7"}}, "at most six fields are expected, not 7"},
        {{{"timingwheel-cron", "60 9 * * *"}},
         "the number must be from 0 to 59, not 60, at character 1"},
        {{{"timingwheel-cron", "0 9 * * FUN"}}, "at character 9"},
        {{{"timingwheel-cron", "0 9 31 2 *"}}, "this day never comes, at character 5"},
        {{{"timingwheel-cron", "@never"}}, "no shorthand is called \"@never\""},
        {{{"timingwheel-cron", "@\n\x01"}}, "timingwheel-cron is \"@??\": no shorthand is called"},
        {{{"timingwheel-calendar", ""}}, "timingwheel-calendar is \"\": an expression is expected"},
        {{{"timingwheel-calendar", "tomorrow"}}, "timingwheel-calendar is \"tomorrow\": "},
        {{{"timingwheel-calendar", "25:00"}}, "the number must be from 0 to 23, not 25"},
        {{{"timingwheel-calendar", "*-02-30"}}, "this day never comes"},
        {{{"timingwheel-calendar", "12:00:00.5"}}, "fractions of seconds are not supported"},
        {{{"timingwheel-calendar", "12:00 Mars/Olympus"}}, "unknown time zone \"Mars/Olympus\""},
        {{cron, {"timingwheel-zone", "Europe/Zuerich"}},
         "timingwheel-zone: unknown time zone \"Europe/Zuerich\": "},
        {{cron, {"timingwheel-zone", ""}}, "timingwheel-zone: unknown time zone \"\""},
        {{cron, {"timingwheel-zone", "../zoneinfo/UTC"}}, "unknown time zone \"../zoneinfo/UTC\""},
        {{{"timingwheel-calendar", "12:00 Europe/Paris"}, {"timingwheel-zone", "UTC"}},
         "timingwheel-zone is \"UTC\": timingwheel-calendar ends with a zone itself, Europe/Paris"},
        {{cron, {"timingwheel-gap", "atItsEnd"}},
         "timingwheel-gap is \"atItsEnd\": it must be one of at-its-end, skip"},
        {{cron, {"timingwheel-overlap", ""}},
         "timingwheel-overlap is \"\": it must be one of first, last, both"},
        {{every, {"timingwheel-missed", "shift"}},
         "timingwheel-missed is \"shift\": it must be one of skip, catch-up"},
        {{every, cron},
         "timingwheel-cron is \"0 9 * * *\": a timer has one of timingwheel-every, "
         "timingwheel-cron and timingwheel-calendar"},
        {{cron, calendar}, "timingwheel-calendar is \"daily\": a timer has one of"},
        {{calendar, every}, "timingwheel-calendar is \"daily\": a timer has one of"},
        {{{"timingwheel-zone", "UTC"}},
         "timingwheel-zone is \"UTC\": it belongs to timingwheel-cron or timingwheel-calendar"},
        {{{"timingwheel-missed", "skip"}}, "timingwheel-missed is \"skip\": it belongs to one of"},
        {{every, {"timingwheel-zone", "UTC"}}, "timingwheel-zone is \"UTC\": it belongs to"},
        {{every, {"timingwheel-gap", "skip"}}, "timingwheel-gap is \"skip\": it belongs to"},
        {{every, {"timingwheel-overlap", "both"}},
         "timingwheel-overlap is \"both\": it belongs to timingwheel-cron or "
         "timingwheel-calendar"}};
    for (Case const& each : cases) {
        std::string const reason = refusalOf(each.headers);
        EXPECT_THAT(reason, HasSubstr(each.reason));
        EXPECT_EQ(reason.find('\n'), std::string::npos) << reason;
    }
}

}  // namespace
}  // namespace timingwheel::test::kafka
