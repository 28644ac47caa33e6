#include "kafka/Records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using timingwheel::kafka::CommandLimits;
using timingwheel::kafka::readCommand;
using timingwheel::kafka::readPosition;
using timingwheel::kafka::readState;
using timingwheel::kafka::Refusal;

constexpr CommandLimits kLimits{.latest = 1'000'000};

std::string refusalOf(Record const& record, CommandLimits limits = kLimits) {
    auto const read = readCommand(record, limits);
    auto const* const refusal = std::get_if<Refusal>(&read);
    return refusal == nullptr ? "it was accepted" : refusal->reason;
}

TEST(Command, OfAScheduleSaysWhenWhereAndWhat) {
    Record const record = test::kafka::record("4711", {{"timingwheel-command", "schedule"},
                                                       {"timingwheel-at", "5000"},
                                                       {"timingwheel-to", "orders.unpaid"},
                                                       {"timingwheel-key", "customer-1"},
                                                       {"timingwheel-reply", "r1"},
                                                       {"trace", "abc"},
                                                       {"empty", std::nullopt}});
    auto const command = std::get<Command>(readCommand(record, kLimits));
    EXPECT_EQ(command.kind, Command::Kind::schedule);
    EXPECT_EQ(command.id, "4711");
    EXPECT_EQ(command.at, 5'000);
    EXPECT_EQ(command.to, "orders.unpaid");
    EXPECT_EQ(command.key, "customer-1");
    EXPECT_EQ(command.value, "payload");
    EXPECT_THAT(command.headers,
                ElementsAre(Header{"trace", "abc"}, Header{"empty", std::nullopt}));
}

TEST(Command, OfAPushBackOrCancelNeedsNoTarget) {
    auto const pushBack = std::get<Command>(readCommand(
        record("a", {{"timingwheel-command", "push-back"}, {"timingwheel-at", "7"}}), kLimits));
    EXPECT_EQ(pushBack.kind, Command::Kind::pushBack);
    EXPECT_EQ(pushBack.at, 7);
    auto const cancel =
        std::get<Command>(readCommand(record("a", {{"timingwheel-command", "cancel"}}), kLimits));
    EXPECT_EQ(cancel.kind, Command::Kind::cancel);
}

TEST(Command, OfAHeaderThatIsThereTwiceTakesTheLast) {
    Record twice = schedule("a", "1");
    twice.headers.push_back({"timingwheel-at", "2"});
    EXPECT_EQ(std::get<Command>(readCommand(twice, kLimits)).at, 2);
}

TEST(Command, TakesBoundsAndNotBeyond) {
    EXPECT_EQ(refusalOf(schedule(std::string(1'000, 'k'), "0")), "it was accepted");
    EXPECT_EQ(refusalOf(schedule(std::string(1'001, 'k'), "0")),
              "the key has 1001 bytes: the most is 1000");
    EXPECT_EQ(refusalOf(schedule("a", "1000000")), "it was accepted");
    EXPECT_THAT(refusalOf(schedule("a", "1000001")),
                AllOf(HasSubstr("1000001"), HasSubstr("the latest is 1000000")));
    EXPECT_THAT(refusalOf(schedule("a", "1763000000"), {.earliest = 1'763'000'001'000}),
                AllOf(HasSubstr("timingwheel-at is 1763000000: the earliest is 1763000001000"),
                      HasSubstr("milliseconds")));
    EXPECT_EQ(refusalOf(schedule("a", "5000"), {.earliest = 5'000, .latest = 5'000}),
              "it was accepted");
    EXPECT_THAT(
        refusalOf(record("a", {{"timingwheel-command", "push-back"}, {"timingwheel-at", "4999"}}),
                  {.earliest = 5'000, .latest = 5'000}),
        HasSubstr("the earliest is 5000"));
    EXPECT_EQ(refusalOf(schedule("a", "0", std::string(249, 't'))), "it was accepted");
    EXPECT_THAT(refusalOf(schedule("a", "0", std::string(250, 't'))), HasSubstr("1 to 249"));
    Record again = schedule("a", "0");  // a dead letter, say
    for (char const* name : {"timingwheel-id", "timingwheel-from", "timingwheel-reason"})
        again.headers.push_back({name, "x"});
    EXPECT_EQ(refusalOf(again), "it was accepted");
    Record many = schedule("a", "0");
    for (int i = 0; i < 100; ++i) many.headers.push_back({"h", "v"});
    EXPECT_EQ(refusalOf(many), "it was accepted");
    many.headers.push_back({"h", "v"});
    EXPECT_EQ(refusalOf(many), "it has 101 headers of its own: the most is 100");
}

TEST(Command, ThatIsMalformedIsRefusedWithTheReason) {
    struct Case {
        Record record;
        char const* reason;
    };
    std::string const endless(5'000, '9');
    std::vector<Case> const cases{
        {record(std::nullopt, {{"timingwheel-command", "cancel"}}), "the key is empty"},
        {record("", {{"timingwheel-command", "cancel"}}), "the key is empty"},
        {record("a", {}), "timingwheel-command is missing"},
        {record("a", {{"timingwheel-command", "Schedule"}}), "timingwheel-command is \"Schedule\""},
        {record("a", {{"timingwheel-command", std::nullopt}}), "timingwheel-command is \"\""},
        {record("a", {{"timingwheel-command", "push-back"}}), "timingwheel-at is missing"},
        {schedule("a", ""), "timingwheel-at is \"\""},
        {schedule("a", "-1"), "timingwheel-at is \"-1\""},
        {schedule("a", "+1"), "timingwheel-at is \"+1\""},
        {schedule("a", " 1"), "timingwheel-at is \" 1\""},
        {schedule("a", "1.5"), "timingwheel-at is \"1.5\""},
        {schedule("a", "0x10"), "timingwheel-at is \"0x10\""},
        {schedule("a", "99999999999999999999"), "timingwheel-at is \"99999999999999999999\""},
        {schedule("a", "2026-11-23T12:00:00Z"), "timingwheel-at is \"2026-11-23T12:00:00Z\""},
        {schedule("a", "\x01\xff"), "timingwheel-at is \"??\""},
        {schedule("a", endless), "...\""},
        {record("a", {{"timingwheel-command", "schedule"}, {"timingwheel-at", "1"}}),
         "timingwheel-to is missing"},
        {record("a", {{"timingwheel-command", "schedule"},
                      {"timingwheel-at", "1"},
                      {"timingwheel-to", "orders"},
                      {"timingwheel-evry", "1000"}}),
         "\"timingwheel-evry\" is no header of a command"},
        {record("a", {{"timingwheel-command", "push-back"}, {"timingwheel-att", "1"}}),
         "\"timingwheel-att\" is no header of a command"},
        {record("a", {{"timingwheel-command", "cancel"}, {"timingwheel-replay", ""}}),
         "\"timingwheel-replay\" is no header of a command"},
        {schedule("a", "1", ""), "timingwheel-to is \"\""},
        {schedule("a", "1", "a topic"), "timingwheel-to is \"a topic\""},
        {schedule("a", "1", ".."), "timingwheel-to is \"..\""},
        {schedule("a", "1", "../etc"), "timingwheel-to is \"../etc\""},
        {schedule("a", "1", "__consumer_offsets"),
         "__consumer_offsets: that is a topic of Kafka's"},
        {schedule("a", "1", "__transaction_state"), "__transaction_state: that is a topic of"},
        {schedule("a", "1", "__share_group_state"), "__share_group_state: that is a topic of"},
        {schedule("a", "1", "__cluster_metadata"), "__cluster_metadata: that is a topic of"},
        {schedule("a", "1", "__remote_log_metadata"), "__remote_log_metadata: that is a topic"}};
    for (Case const& each : cases) EXPECT_THAT(refusalOf(each.record), HasSubstr(each.reason));
}

Record recurring(std::vector<Header> headers) {
    headers.push_back({"timingwheel-command", "schedule"});
    headers.push_back({"timingwheel-to", "orders"});
    return record("a", std::move(headers));
}

TEST(Command, OfATimerThatRecursSaysWhenFirstOrItsRuleDoes) {
    CommandLimits const limits{.now = 500'000, .earliest = 400'000, .latest = 1'000'000};
    Record record = recurring({{"timingwheel-every", "60000"}});
    EXPECT_EQ(std::get<Command>(readCommand(record, limits)).at, 560'000);
    EXPECT_THAT(std::get<Command>(readCommand(record, limits)).rule,
                ElementsAre(Header{"timingwheel-every", "60000"}));
    EXPECT_THAT(std::get<Command>(readCommand(record, limits)).headers, IsEmpty());
    record.headers.push_back({"timingwheel-at", "450001"});
    EXPECT_EQ(std::get<Command>(readCommand(record, limits)).at, 450'001);
    record = recurring({{"timingwheel-cron", "*/5 * * * *"}, {"timingwheel-zone", "UTC"}});
    EXPECT_EQ(std::get<Command>(readCommand(record, limits)).at, 600'000);
    EXPECT_EQ(std::get<Command>(readCommand(record, limits)).rule.size(), 2U);
    // The last time of a rule, as it is copied from a state into other topics; and pushed back.
    for (char const* const at : {"600000", "600001"}) {
        record = recurring({{"timingwheel-calendar", "1970-01-01 00:10"}, {"timingwheel-at", at}});
        EXPECT_EQ(std::to_string(std::get<Command>(readCommand(record, limits)).at), at);
    }
}

TEST(Command, OfATimerThatRecursIsRefusedWithTheReason) {
    CommandLimits const limits{.now = 500'000, .earliest = 400'000, .latest = 1'000'000};
    auto const refusal = [&](std::vector<Header> headers) {
        return refusalOf(recurring(std::move(headers)), limits);
    };
    EXPECT_THAT(refusal({{"timingwheel-every", "500001"}}),
                HasSubstr("timingwheel-every is \"500001\": it must be a whole number of "
                          "milliseconds, 1000 to 500000 (--max-delay-days)"));
    EXPECT_EQ(refusal({{"timingwheel-every", "500000"}}), "it was accepted");
    EXPECT_THAT(refusal({{"timingwheel-every", "1000"}, {"timingwheel-at", "399999"}}),
                HasSubstr("timingwheel-at is 399999: the earliest is 400000"));
    EXPECT_THAT(refusal({{"timingwheel-every", "1000"}, {"timingwheel-at", "soon"}}),
                HasSubstr("timingwheel-at is \"soon\""));
    EXPECT_THAT(refusal({{"timingwheel-cron", "17 0 * * *"}}),
                HasSubstr("timingwheel-cron is \"17 0 * * *\": it comes first at 1020000: the "
                          "latest is 1000000 (--max-delay-days)"));
    EXPECT_THAT(refusal({{"timingwheel-calendar", "1970-01-01 00:08"}}),
                HasSubstr("timingwheel-calendar is \"1970-01-01 00:08\": it does not come after "
                          "500000"));
    EXPECT_THAT(refusal({{"timingwheel-zone", "UTC"}, {"timingwheel-at", "600000"}}),
                HasSubstr("timingwheel-zone is \"UTC\": it belongs to"));
    for (char const* const command : {"push-back", "cancel"})
        EXPECT_THAT(refusalOf(record("a", {{"timingwheel-command", command},
                                           {"timingwheel-at", "600000"},
                                           {"timingwheel-every", "1000"}}),
                              limits),
                    HasSubstr("timingwheel-every is for schedule"));
}

TEST(Command, OfTheStateHasTheRuleThatWasAccepted) {
    std::vector<Header> const rule{{"timingwheel-cron", "@daily"},
                                   {"timingwheel-zone", "Mars/Olympus"}};
    std::vector<Header> headers{{"timingwheel-at", "1"}, {"timingwheel-to", "orders"}};
    EXPECT_THAT(std::get<Command>(readState(record("a", headers))).rule, IsEmpty());
    headers.insert(headers.end(), rule.begin(), rule.end());
    EXPECT_EQ(std::get<Command>(readState(record("a", headers))).rule, rule);
}

TEST(Command, OfTheStateIsWhatAScheduleWas) {
    Record const state = record(
        "a", {{"timingwheel-at", "99999999"}, {"timingwheel-to", "orders"}, {"colour", "red"}});
    auto const timer = std::get<Command>(readState(state));
    EXPECT_EQ(timer.at, 99'999'999);  // no bound: it was accepted once
    EXPECT_EQ(timer.value, "payload");
    EXPECT_THAT(timer.headers, ElementsAre(Header{"colour", "red"}));

    Record const without = record(
        "a",
        {{"timingwheel-at", "1"}, {"timingwheel-to", "orders"}, {"timingwheel-value", "none"}});
    EXPECT_EQ(std::get<Command>(readState(without)).value, std::nullopt);
}

TEST(Command, OfTheStatesPositionIsAnOffset) {
    for (auto const& [value, offset] : std::vector<std::pair<std::string, std::int64_t>>{
             {"0", 0}, {"17", 17}, {"9223372036854775807", INT64_MAX}})
        EXPECT_EQ(readPosition(record("", {}, value)), offset);
    for (auto const value : {"", "-1", "17 ", "0x11", "9223372036854775808"})
        EXPECT_EQ(readPosition(record("", {}, value)), std::nullopt) << value;
    EXPECT_EQ(readPosition(record("", {}, std::nullopt)), std::nullopt);
}

}  // namespace
}  // namespace timingwheel::test::kafka
