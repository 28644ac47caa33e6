#include "components/kafka/daemon/Answers.h"
#include "kafka/Records.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace timingwheel::test::kafka {
namespace {

using timingwheel::kafka::Answers;
using timingwheel::kafka::Forecast;
using timingwheel::kafka::Group;
using timingwheel::kafka::inUnits;
using timingwheel::kafka::inUtc;

constexpr std::int64_t kNoon = 1'795'694'400'000;  // 2026-11-26T12:00:00Z

std::string text(std::function<void(Answers&)> const& answer) {
    std::ostringstream written;
    Answers answers{written, false, kNoon};
    answer(answers);
    return written.str();
}

nlohmann::json json(std::function<void(Answers&)> const& answer) {
    std::ostringstream written;
    Answers answers{written, true, kNoon};
    answer(answers);
    return nlohmann::json::parse(written.str());
}

TEST(Answers, SayTimesInUtcAndInTheTwoLargestUnits) {
    EXPECT_EQ(inUtc(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(inUtc(kNoon + 7), "2026-11-26T12:00:00.007Z");
    EXPECT_EQ(inUtc(253'402'300'800'000), "10000-01-01T00:00:00.000Z");
    EXPECT_EQ(inUtc(INT64_MAX).back(), 'Z');  // of a foreign record
    EXPECT_EQ(inUnits(0), "in 0 s");
    EXPECT_EQ(inUnits(59'999), "in 59 s");
    EXPECT_EQ(inUnits(60'000), "in 1 min");
    EXPECT_EQ(inUnits(-61'000), "1 min 1 s ago");
    EXPECT_EQ(inUnits(3'605'000), "in 1 h");
    EXPECT_EQ(inUnits(3 * 86'400'000 + 5 * 3'600'000 + 59'000), "in 3 d 5 h");
}

TEST(Answers, ListTimersInColumnsOrInJson) {
    auto const list = [](Answers& answers) {
        answers.list({{kNoon - 5'000, "a", "mails"}, {kNoon + 60'000, "b\x1b\xff", "m"}}, 12);
    };
    EXPECT_EQ(text(list),
              "2026-11-26T11:59:55.000Z  5 s ago           mails  a\n"
              "2026-11-26T12:01:00.000Z  in 1 min          m      b\\u001b\\ufffd\n"
              "2 of 12 pending\n");
    EXPECT_EQ(json(list), nlohmann::json::parse(R"({"pending": 12, "timers": [
        {"id": "a", "due": "2026-11-26T11:59:55.000Z", "due_ms": 1795694395000, "to": "mails"},
        {"id_hex": "621bff", "due": "2026-11-26T12:01:00.000Z", "due_ms": 1795694460000,
         "to": "m"}]})"));
    auto const none = [](Answers& answers) { answers.list({}, 0); };
    EXPECT_EQ(text(none), "0 of 0 pending\n");
    EXPECT_EQ(json(none), nlohmann::json::parse(R"({"pending": 0, "timers": []})"));
}

TEST(Answers, ShowATimerWithAllThatIsDelivered) {
    std::string const at = std::to_string(kNoon + 1'000);
    Record const whole = record("4711",
                                {{"timingwheel-at", at},
                                 {"timingwheel-to", "orders"},
                                 {"timingwheel-key", "customer"},
                                 {"colour", "red"},
                                 {"none", std::nullopt}},
                                "\xc3\xa9t\xc3\xa9");
    auto const show = [&](Answers& answers) { answers.timer(whole, 3); };
    EXPECT_EQ(text(show),
              "id         4711\n"
              "due        2026-11-26T12:00:01.000Z, in 1 s\n"
              "to         orders\n"
              "key        customer\n"
              "header     colour: red\n"
              "header     none: none\n"
              "value      5 bytes\n"
              "partition  3\n");
    EXPECT_EQ(json(show), nlohmann::json::parse(R"({"id": "4711", "pending": true,
        "due": "2026-11-26T12:00:01.000Z", "due_ms": 1795694401000, "to": "orders",
        "key": "customer", "headers": [{"name": "colour", "value": "red"},
        {"name": "none", "value": null}], "value": "été", "partition": 3})"));

    Record const bare = record(
        "\xff",
        {{"timingwheel-at", at}, {"timingwheel-to", "orders"}, {"timingwheel-value", "none"}});
    auto const showBare = [&](Answers& answers) { answers.timer(bare, 0); };
    EXPECT_EQ(text(showBare),
              "id         \\ufffd\n"
              "due        2026-11-26T12:00:01.000Z, in 1 s\n"
              "to         orders\n"
              "key        \\ufffd\n"
              "value      none\n"
              "partition  0\n");
    EXPECT_EQ(json(showBare), nlohmann::json::parse(R"({"id_hex": "ff", "pending": true,
        "due": "2026-11-26T12:00:01.000Z", "due_ms": 1795694401000, "to": "orders",
        "key_hex": "ff", "headers": [], "value": null, "partition": 0})"));

    auto const none = [](Answers& answers) { answers.notPending("4711"); };
    EXPECT_EQ(text(none), "4711 is not pending: it was delivered, cancelled, or never there\n");
    EXPECT_EQ(json(none), nlohmann::json::parse(R"({"id": "4711", "pending": false})"));
}

TEST(Answers, ForecastWhatIsDueAndByWhen) {
    Forecast forecast{.now = kNoon};
    auto const answer = [&](Answers& answers) { answers.forecast(forecast); };
    EXPECT_EQ(json(answer)["farthest"], nullptr);
    for (int i = 0; i < 12; ++i) forecast.add(kNoon - 1);
    forecast.add(kNoon + 3'600'000);
    EXPECT_EQ(text(answer),
              "due                     timers    up to then\n"
              "overdue                     12            12\n"
              "within a minute              0            12\n"
              "within an hour               1            13\n"
              "within a day                 0            13\n"
              "within a week                0            13\n"
              "within 30 days               0            13\n"
              "later                        0            13\n"
              "the farthest: 2026-11-26T13:00:00.000Z, in 1 h\n");
    auto const read = json(answer);
    EXPECT_EQ(read["pending"], 13);
    EXPECT_EQ(read["forecast"][2], nlohmann::json::parse(R"({"due": "within an hour", "timers": 1,
                                                             "up_to_then": 13})"));
    EXPECT_EQ(read["farthest"]["due_ms"], kNoon + 3'600'000);
}

TEST(Answers, SayWhatBecameOfACancel) {
    auto const reply = [](char const* outcome, char const* reason) {
        return [=](Answers& answers) { answers.reply("a", {outcome, reason}); };
    };
    EXPECT_EQ(text(reply("cancelled", "")), "cancelled\n");
    EXPECT_EQ(text(reply("too-late", "")),
              "too-late: nothing of that id was pending: it was delivered, cancelled, or never "
              "there\n");
    EXPECT_EQ(text(reply("refused", "murmur2")), "refused: murmur2\n");
    EXPECT_EQ(json(reply("refused", "murmur2")),
              nlohmann::json::parse(R"({"id": "a", "outcome": "refused", "reason": "murmur2"})"));
}

TEST(Answers, SayWhoHasWhichPartition) {
    Group group{.state = "Stable", .partitions = {{{{"m-1", "/10.0.0.7"}}, 17, 2}, {}}};
    auto const check = [&](Answers& answers) { answers.check(2, "timers", group); };
    EXPECT_EQ(text(check),
              "the topics are as they must be, with 2 partitions\n"
              "group timers: Stable\n"
              "partition          offset         lag  worker\n"
              "        0              17           2  m-1 at /10.0.0.7\n"
              "        1            none           0  no worker\n");
    EXPECT_EQ(json(check), nlohmann::json::parse(R"({"topics": {"partitions": 2},
        "group": {"name": "timers", "state": "Stable", "partitions": [
        {"partition": 0, "offset": 17, "lag": 2, "worker": {"id": "m-1", "host": "/10.0.0.7"}},
        {"partition": 1, "offset": null, "lag": 0, "worker": null}]}})"));
    auto const topics = [](Answers& answers) { answers.check(2, "timers", std::nullopt); };
    EXPECT_EQ(text(topics), "the topics are as they must be, with 2 partitions\n");
    EXPECT_EQ(json(topics), nlohmann::json::parse(R"({"topics": {"partitions": 2}})"));
}

}  // namespace
}  // namespace timingwheel::test::kafka
