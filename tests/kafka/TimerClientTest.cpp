#include <timingwheel/kafka/TimerClient.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
using ::testing::HasSubstr;
using timingwheel::kafka::DelayedRecord;
using timingwheel::kafka::KafkaError;
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
        {{.brokers = "localhost:9092", .commands = ""}, "commands is empty"},
        {{.brokers = "localhost:9092", .librdkafka = {{"no.such", "1"}}}, "no.such=1"},
        {{.brokers = "localhost:9092", .librdkafka = {{"linger.ms", "soon"}}}, "linger.ms=soon"}};
    for (auto const& [options, reason] : bad)
        EXPECT_THAT(refusalOf([&options = options] { TimerClient const client{options}; }),
                    HasSubstr(reason));
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
    EXPECT_THAT(refusal(record), HasSubstr("to is empty"));
    record = good;
    record.headers = {{"timingwheel-at", "1"}};
    EXPECT_THAT(refusal(record), HasSubstr("timingwheel-at"));
    record.headers.assign(101, {"a", "b"});
    EXPECT_THAT(refusal(record), HasSubstr("the number of headers is 101: it must be at most 100"));
    EXPECT_THAT(refusalOf([&] { client.cancel("").wait(); }), HasSubstr("id is 0 bytes"));
    EXPECT_THAT(refusalOf([&] { client.pushBack("a", record.at - 600'000h).wait(); }),
                HasSubstr("at is -"));
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
