#include "components/kafka/client/Client.h"

#include <timingwheel/kafka/TimerClient.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// What needs a broker is in failures.py.
namespace timingwheel::test::kafka {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using timingwheel::kafka::check;
using timingwheel::kafka::Client;
using timingwheel::kafka::Configuration;
using timingwheel::kafka::DelayedRecord;
using timingwheel::kafka::KafkaError;
using timingwheel::kafka::Message;
using timingwheel::kafka::RecurrenceRule;
using timingwheel::kafka::TimerClient;

std::string refusalOf(std::function<void()> const& call) {
    try {
        call();
    } catch (std::invalid_argument const& refusal) {
        return refusal.what();
    }
    return "it was accepted";
}

/// Nobody listens there.
TimerClient unreachable() {
    return TimerClient{{.brokers = "127.0.0.1:1",
                        .librdkafka = {{"message.timeout.ms", "1"}, {"log_level", "0"}}}};
}

TEST(TimerClient, RefusesBadOptionsByName) {
    std::vector<std::pair<timingwheel::kafka::TimerClientOptions, char const*>> const bad{
        {{.brokers = ""}, "brokers is empty"},
        {{.brokers = std::string{"a\0b", 3}}, "bootstrap.servers: it must be without a zero byte"},
        {{.brokers = "localhost:9092", .commands = ""}, "commands is \"\": it must be 1 to 249"},
        {{.brokers = "localhost:9092", .commands = std::string{"a\0b", 3}},
         "commands is \"a?b\": it must be 1 to 249 of a-z"},
        {{.brokers = "localhost:9092", .librdkafka = {{"sasl.passwords", "hidden"}}},
         "sasl.passwords: No such"},
        {{.brokers = "localhost:9092", .librdkafka = {{"linger.ms", "soon"}}},
         "linger.ms: Invalid value"}};
    for (auto const& [options, reason] : bad)
        EXPECT_THAT(refusalOf([&options = options] { TimerClient const client{options}; }),
                    AllOf(HasSubstr(reason), Not(HasSubstr("hidden"))));
}

TEST(TimerClient, RefusesWhatWorkersWouldRefuse) {
    TimerClient client = unreachable();
    DelayedRecord const good{.id = "4711", .at = system_clock::now() + 30min, .to = "orders"};
    auto const refusal = [&client](DelayedRecord const& record) {
        return refusalOf([&] { client.schedule(record).wait(); });
    };
    DelayedRecord record = good;
    record.id.clear();
    EXPECT_EQ(refusal(record), "kafka: the length of id is 0 bytes: it must be 1 to 1000 bytes");
    record.id.assign(1'001, 'x');
    EXPECT_EQ(refusal(record), "kafka: the length of id is 1001 bytes: it must be 1 to 1000 bytes");
    record = good;
    auto const refusedAt = [&](system_clock::time_point at) {
        record.at = at;
        return refusal(record);
    };
    EXPECT_THAT(refusedAt(system_clock::time_point{-1s}),
                HasSubstr("kafka: at is -1000 ms since 1970: it must be "));
    // Forgotten, seconds for milliseconds, and milliseconds for seconds.
    EXPECT_THAT(refusedAt({}), HasSubstr("at is 0 ms"));
    EXPECT_THAT(refusedAt(system_clock::time_point{1'763'000'000ms}),
                HasSubstr("at is 1763000000 ms"));
    EXPECT_THAT(refusedAt(system_clock::time_point::max()), HasSubstr("it must be "));
    EXPECT_THAT(refusedAt(system_clock::time_point::min()), HasSubstr("at is -"));
    constexpr auto kDay = 24h;
    EXPECT_THAT(refusedAt(system_clock::now() - 10'001 * kDay), HasSubstr("it must be "));
    EXPECT_THAT(refusedAt(system_clock::now() + 36'601 * kDay), HasSubstr("it must be "));
    record = good;
    record.to.clear();
    EXPECT_THAT(refusal(record), HasSubstr("to is \"\": it must be 1 to 249"));
    record.to = "a b";
    EXPECT_THAT(refusal(record), HasSubstr("to is \"a b\": it must be 1 to 249"));
    record = good;
    record.headers = {{"timingwheel-at", "1"}};
    EXPECT_THAT(refusal(record), HasSubstr("timingwheel-at"));
    // librdkafka would end the name there.
    record.headers = {{std::string("a\0b", 3), "1"}};
    EXPECT_THAT(refusal(record), HasSubstr("header is a: it must be without a zero byte"));
    record.headers.assign(101, {"a", "b"});
    EXPECT_THAT(refusal(record), HasSubstr("the number of headers is 101: it must be at most 100"));
    EXPECT_THAT(refusalOf([&] { client.cancel("").wait(); }), HasSubstr("id is 0 bytes"));
    EXPECT_THAT(refusalOf([&] { client.pushBack("a", record.at - 600'000h).wait(); }),
                HasSubstr("at is -"));
}

TEST(TimerClient, RefusesARuleThatWorkersWouldRefuse) {
    TimerClient client = unreachable();
    auto const refusal = [&client](RecurrenceRule const& rule) {
        return refusalOf(
            [&] { client.schedule({.id = "4711", .to = "orders", .rule = rule}).wait(); });
    };
    EXPECT_EQ(refusal({}), "kafka: rule is empty: it must be one of every, cron and onCalendar");
    for (RecurrenceRule const& several : {RecurrenceRule{.every = 1h, .cron = "@daily"},
                                          RecurrenceRule{.every = 1h, .onCalendar = "daily"},
                                          RecurrenceRule{.cron = "@daily", .onCalendar = "daily"}})
        EXPECT_EQ(refusal(several),
                  "kafka: rule is several: it must be one of every, cron and onCalendar");
    EXPECT_EQ(refusal({.every = 999ms}),
              "kafka: every is 999 ms: it must be 1000 to 3162240000000 ms");
    EXPECT_THAT(refusal({.every = -1s}), HasSubstr("every is -1000 ms"));
    EXPECT_THAT(refusal({.every = 36'601 * 24h}), HasSubstr("every is 3162326400000 ms"));
    for (RecurrenceRule const& byCalendar :
         {RecurrenceRule{.every = 1h, .zone = "UTC"},
          RecurrenceRule{.every = 1h, .gap = RecurrenceRule::Gap::skip},
          RecurrenceRule{.every = 1h, .overlap = RecurrenceRule::Overlap::both}})
        EXPECT_EQ(refusal(byCalendar),
                  "kafka: zone, gap or overlap is set: it must be of cron or onCalendar");
    std::string const longer(1'001, '*');
    for (RecurrenceRule const& rule :
         {RecurrenceRule{.cron = longer}, RecurrenceRule{.onCalendar = longer},
          RecurrenceRule{.cron = "@daily", .zone = longer}})
        EXPECT_THAT(refusal(rule), HasSubstr("is 1001 bytes: it must be at most 1000 bytes"));
    EXPECT_THAT(refusalOf([&] {
                    client
                        .schedule({.id = "4711",
                                   .at = system_clock::time_point{1s},
                                   .to = "orders",
                                   .rule = RecurrenceRule{.every = 1h}})
                        .wait();
                }),
                HasSubstr("kafka: at is 1000 ms"));
}

TEST(TimerClient, WritesARuleAsHeaders) {
    Configuration configuration{{{"test.mock.num.brokers", "1"}, {"log_level", "2"}}};
    Client const producer = configuration.makeClient(RD_KAFKA_PRODUCER);
    std::string const brokers =
        rd_kafka_mock_cluster_bootstraps(rd_kafka_handle_mock_cluster(producer.get()));
    TimerClient client{{.brokers = brokers, .librdkafka = {{"log_level", "2"}}}};
    using Rule = RecurrenceRule;
    client.schedule({.id = "a", .to = "orders", .rule = Rule{.every = 90s}}).get();
    client
        .schedule({.id = "a",
                   .at = system_clock::now(),
                   .to = "orders",
                   .rule = Rule{.cron = "0 9 * * *",
                                .zone = "Europe/Zurich",
                                .gap = Rule::Gap::skip,
                                .overlap = Rule::Overlap::last,
                                .missed = Rule::Missed::catchUp}})
        .get();
    client
        .schedule({.id = "a",
                   .to = "orders",
                   .rule = Rule{.onCalendar = "daily", .overlap = Rule::Overlap::both}})
        .get();

    Configuration ofReader{{{"bootstrap.servers", brokers},
                            {"group.id", "reader"},
                            {"auto.offset.reset", "earliest"},
                            {"log_level", "2"}}};
    Client const reader = ofReader.makeClient(RD_KAFKA_CONSUMER);
    auto const list = timingwheel::kafka::partitionList("timers.commands", RD_KAFKA_PARTITION_UA);
    check(rd_kafka_subscribe(reader.get(), list.get()), "to read");
    std::vector<std::vector<std::pair<std::string, std::string>>> commands;
    auto const giveUpAt = std::chrono::steady_clock::now() + 60s;
    while (commands.size() < 3 && std::chrono::steady_clock::now() < giveUpAt) {
        Message const message{rd_kafka_consumer_poll(reader.get(), 100)};
        rd_kafka_headers_t* headers = nullptr;
        if (!message || message->err != RD_KAFKA_RESP_ERR_NO_ERROR ||
            rd_kafka_message_headers(message.get(), &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
            continue;
        auto& command = commands.emplace_back();
        char const* name = nullptr;
        void const* value = nullptr;
        std::size_t size = 0;
        for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) ==
                                RD_KAFKA_RESP_ERR_NO_ERROR;
             ++i)
            command.emplace_back(name, std::string{static_cast<char const*>(value), size});
    }
    ASSERT_EQ(commands.size(), 3U);
    EXPECT_THAT(commands[0],
                ElementsAre(Pair("timingwheel-command", "schedule"),
                            Pair("timingwheel-every", "90000"), Pair("timingwheel-to", "orders")));
    EXPECT_THAT(
        commands[1],
        ElementsAre(Pair("timingwheel-command", "schedule"), Pair("timingwheel-at", _),
                    Pair("timingwheel-cron", "0 9 * * *"),
                    Pair("timingwheel-zone", "Europe/Zurich"), Pair("timingwheel-gap", "skip"),
                    Pair("timingwheel-overlap", "last"), Pair("timingwheel-missed", "catch-up"),
                    Pair("timingwheel-to", "orders")));
    EXPECT_THAT(
        commands[2],
        ElementsAre(Pair("timingwheel-command", "schedule"), Pair("timingwheel-calendar", "daily"),
                    Pair("timingwheel-overlap", "both"), Pair("timingwheel-to", "orders")));
}

TEST(TimerClient, TellsOfACommandThatNoBrokerHasConfirmed) {
    TimerClient client = unreachable();
    auto confirmed = client.cancel("4711");
    EXPECT_THROW(confirmed.get(), KafkaError);
}

// A future waited for ever: librdkafka then reports nothing else.
TEST(TimerClient, TellsOfWhatABrokerHasConfirmedWhateverItsSettings) {
    TimerClient client{{.brokers = "127.0.0.1:1",
                        .librdkafka = {{"test.mock.num.brokers", "1"},  // librdkafka's stand-in
                                       {"delivery.report.only.error", "true"},
                                       {"log_level", "0"}}}};
    auto confirmed = client.cancel("4711");
    ASSERT_EQ(confirmed.wait_for(60s), std::future_status::ready);
    EXPECT_NO_THROW(confirmed.get());
}

TEST(TimerClient, TellsFuturesThatOutliveIt) {
    std::future<void> confirmed;
    {
        TimerClient client = unreachable();
        confirmed = client.cancel("4711");
    }
    EXPECT_THROW(confirmed.get(), KafkaError);
}

}  // namespace
}  // namespace timingwheel::test::kafka
