#include "components/kafka/daemon/ActiveOptions.h"
#include "components/kafka/daemon/Options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using timingwheel::kafka::CommandLine;
using timingwheel::kafka::inOneLine;
using timingwheel::kafka::kBadConfiguration;
using timingwheel::kafka::Operation;
using timingwheel::kafka::parse;

struct Parsed {
    CommandLine line;
    std::string said;
};

Parsed parsed(std::vector<std::string> const& words) {
    std::vector<char const*> arguments{"timingwheel-kafka"};
    for (std::string const& word : words) arguments.push_back(word.c_str());
    ::testing::internal::CaptureStderr();
    CommandLine line = parse(static_cast<int>(arguments.size()), arguments.data());
    return {std::move(line), ::testing::internal::GetCapturedStderr()};
}

TEST(KafkaOptions, HaveDefaultsForAllButTheBrokers) {
    Parsed const plain = parsed({"--brokers", "a:1,b:2"});
    EXPECT_FALSE(plain.line.exitStatus.has_value());
    EXPECT_EQ(plain.line.options.brokers, "a:1,b:2");
    EXPECT_EQ(plain.line.options.commands, "timers.commands");
    EXPECT_EQ(plain.line.options.transactionalId(3), "timingwheel-3");
    EXPECT_EQ(parsed({}).line.exitStatus, kBadConfiguration);
}

TEST(KafkaOptions, ThatAreBadAreRefusedByNameValueAndBound) {
    std::vector<std::pair<std::vector<std::string>, char const*>> const bad{
        {{"--batch", "0"}, "--batch: is 0: it must be 1 to 1000000 records"},
        {{"--batch", "many"}, "--batch: is many: it must be 1 to 1000000 records"},
        {{"--memory-mb", "1000001"}, "--memory-mb: is 1000001: it must be 1 to 1000000 MB"},
        {{"--session-timeout-ms", "999"}, "is 999: it must be 1000 to 3600000 ms"},
        {{"--transaction-timeout-ms", "900001"}, "is 900001: it must be 1000 to 900000 ms"},
        {{"--horizon-s", "0"}, "--horizon-s: is 0: it must be 1 to 31622400 s"},
        {{"--max-delay-days", "-1"}, "is -1: it must be 1 to 36600 days"},
        {{"--max-past-days", "10001"}, "is 10001: it must be 1 to 10000 days"},
        {{"--create-topics", "0"}, "is 0: it must be 1 to 10000 partitions"},
        {{"--replication", "101"}, "is 101: it must be 1 to 100 brokers"},
        // Read as octal, it would be 512, and below the bound.
        {{"--session-timeout-ms", "01000"}, "is 01000: it must be 1000 to 3600000 ms"},
        {{"--log-level", "loud"}, "loud"},
        {{"--group", ""}, "--group: is empty"},
        {{"--brokers", ""}, "--brokers: is empty"},
        {{"--commands", "a b"}, "--commands: is \"a b\": it must be 1 to 249 of a-z"},
        {{"--state", ""}, "--state: is \"\": it must be 1 to 249 of a-z"},
        {{"--dead-letters", ".."}, "--dead-letters: is \"..\": it must be 1 to 249 of a-z"},
        {{"--replies", std::string(250, 'a')}, "aaa...\": it must be 1 to 249 of a-z"},
        {{"--state", "timers.commands"}, "timers.commands is there twice"},
        {{"--replies", "timers.state"}, "timers.state is there twice"},
        {{"--targets", "orders,a b"}, "--targets: is \"a b\": it must be 1 to 249 of a-z"},
        {{"--librdkafka", "linger.ms"}, "linger.ms: it must be key=value"},
        {{"--librdkafka", "group.id=x"}, "group.id: the program sets it itself"},
        {{"--librdkafka", "isolation.level=read_uncommitted"}, "isolation.level"},
        {{"--librdkafka", "group.instance.id=a"}, "group.instance.id"},
        {{"--librdkafka", "group.protocol=consumer"}, "group.protocol"},
        {{"--librdkafka", "metadata.broker.list=a:1"}, "metadata.broker.list"},
        {{"--librdkafka", "enable.partition.eof=false"}, "enable.partition.eof"},
        {{"--librdkafka", "message.timeout.ms=1"}, "message.timeout.ms"},
        {{"--librdkafka", "delivery.report.only.error=true"}, "delivery.report.only.error"},
        {{"--no-such-option"}, "--no-such-option"}};
    for (auto const& [words, reason] : bad) {
        std::vector<std::string> all{words};
        if (words.front() != "--brokers") all.insert(all.end(), {"--brokers", "a:1"});
        Parsed const refused = parsed(all);
        EXPECT_EQ(refused.line.exitStatus, kBadConfiguration) << reason;
        EXPECT_THAT(refused.said, HasSubstr(reason));
    }
}

TEST(KafkaOptions, AreReadFromAFileToo) {
    std::string const file = ::testing::TempDir() + "/timingwheel-kafka.toml";
    std::ofstream{file} << "brokers = \"a:1\"\nreplies = \"timers.replies\"\nbatch = 5\n"
                           "librdkafka = [\"security.protocol=ssl\", \"debug=broker\"]\n";
    Parsed const read = parsed({"--config", file, "--batch", "6"});
    EXPECT_FALSE(read.line.exitStatus.has_value()) << read.said;
    EXPECT_EQ(read.line.options.brokers, "a:1");
    EXPECT_EQ(read.line.options.replies, "timers.replies");
    EXPECT_EQ(read.line.options.batch, 6U);  // the command line comes first
    EXPECT_EQ(read.line.options.librdkafka.at("security.protocol"), "ssl");
    EXPECT_EQ(read.line.options.librdkafka.at("debug"), "broker");

    EXPECT_EQ(parsed({"--config", file + ".missing"}).line.exitStatus, kBadConfiguration);
}

TEST(KafkaOptions, NameTheTargetsOneByOneOrAfterCommas) {
    EXPECT_THAT(parsed({"--brokers", "a:1"}).line.options.targets, ElementsAre("*"));
    EXPECT_THAT(parsed({"--brokers", "a:1", "--targets", "orders,mail.*", "--targets", "b"})
                    .line.options.targets,
                ElementsAre("orders", "mail.*", "b"));
}

TEST(KafkaOptions, AreShownByNameAsTheyAreAndNoSecrets) {
    Parsed const read = parsed({"--brokers", "a:1", "--batch", "5", "--targets", "b,c",
                                "--librdkafka", "sasl.username=me", "sasl.password=hidden",
                                "ssl.key.pem=hidden", "sasl.oauthbearer.client.secret=hidden"});
    ASSERT_FALSE(read.line.exitStatus.has_value()) << read.said;
    auto const& active = read.line.options.active;
    std::vector<std::pair<std::string const, std::string>> const some{
        {"brokers", "a:1"},
        {"batch", "5"},
        {"commands", "timers.commands"},
        {"replies", ""},
        {"session-timeout-ms", "10000"},
        {"targets", "b,c"},
        {"metrics", ""},
        {"create-topics", "0"},
        {"librdkafka.sasl.username", "me"},
        {"librdkafka.sasl.password", "***"},
        {"librdkafka.ssl.key.pem", "***"}};
    EXPECT_THAT(active, IsSupersetOf(some));
    std::string const line = inOneLine(active);
    EXPECT_THAT(line, HasSubstr("batch=5 brokers=a:1 "));
    EXPECT_THAT(line, Not(HasSubstr("hidden")));
    EXPECT_FALSE(active.contains("help"));
}

TEST(KafkaOptions, MayHaveASubcommandBeforeOrBehindThem) {
    EXPECT_FALSE(parsed({"--brokers", "a:1"}).line.operation.has_value());
    Parsed const list = parsed({"--brokers", "a:1", "list", "--group", "g", "--json", "--limit",
                                "7", "--to", "orders", "--librdkafka", "debug=broker"});
    ASSERT_TRUE(list.line.operation.has_value()) << list.said;
    EXPECT_EQ(list.line.operation->kind, Operation::Kind::list);
    EXPECT_TRUE(list.line.operation->isJson);
    EXPECT_EQ(list.line.operation->limit, 7U);
    EXPECT_EQ(list.line.operation->to, "orders");
    EXPECT_EQ(list.line.options.group, "g");
    EXPECT_EQ(list.line.options.librdkafka.at("debug"), "broker");

    // Several settings do not take the subcommand for one more; and an id may be like any word.
    Parsed const show =
        parsed({"--brokers", "a:1", "--librdkafka", "debug=broker", "log_level=2", "show", "list"});
    ASSERT_TRUE(show.line.operation.has_value()) << show.said;
    EXPECT_EQ(show.line.operation->kind, Operation::Kind::show);
    EXPECT_EQ(show.line.operation->id, "list");
    EXPECT_FALSE(show.line.operation->isJson);

    std::string const file = ::testing::TempDir() + "/timingwheel-kafka-operation.toml";
    std::ofstream{file} << "brokers = \"a:1\"\nreplies = \"timers.replies\"\n";
    Parsed const cancel = parsed({"cancel", "--timeout-s", "5", "--config", file, "--", "-4711"});
    ASSERT_TRUE(cancel.line.operation.has_value()) << cancel.said;
    EXPECT_EQ(cancel.line.operation->kind, Operation::Kind::cancel);
    EXPECT_EQ(cancel.line.operation->id, "-4711");
    EXPECT_EQ(cancel.line.operation->timeout, std::chrono::seconds{5});
    EXPECT_EQ(cancel.line.options.replies, "timers.replies");

    Parsed const check = parsed({"check", "--brokers", "a:1", "--topics-only"});
    ASSERT_TRUE(check.line.operation.has_value()) << check.said;
    EXPECT_EQ(check.line.operation->kind, Operation::Kind::check);
    EXPECT_TRUE(check.line.operation->isOfTopicsOnly);
}

TEST(KafkaOptions, OfASubcommandThatAreBadAreRefusedByNameValueAndBound) {
    std::vector<std::pair<std::vector<std::string>, char const*>> const bad{
        {{"list", "--limit", "0"}, "--limit: is 0: it must be 1 to 1000000 timers"},
        {{"list", "--limit", "1000001"}, "is 1000001: it must be 1 to 1000000 timers"},
        {{"list", "4711"}, "4711"},
        {{"show"}, "id is required"},
        {{"show", ""}, "id: has 0 bytes: it must have 1 to 1000"},
        {{"show", std::string(1'001, 'x')}, "id: has 1001 bytes: it must have 1 to 1000"},
        {{"show", "a", "b"}, "b"},
        {{"show", "a", "--limit", "5"}, "--limit"},
        {{"cancel", "a"}, "cancel waits for a reply: --replies must name the topic"},
        {{"cancel", "a", "--replies", "r", "--timeout-s", "0"}, "is 0: it must be 1 to 3600 s"},
        {{"forecast", "list"}, "list"},
        {{"explode"}, "explode"},
        {{"--json"}, "--json"}};
    for (auto const& [words, reason] : bad) {
        std::vector<std::string> all{"--brokers", "a:1"};
        all.insert(all.end(), words.begin(), words.end());
        Parsed const refused = parsed(all);
        EXPECT_EQ(refused.line.exitStatus, kBadConfiguration) << reason;
        EXPECT_THAT(refused.said, HasSubstr(reason));
    }
    EXPECT_EQ(parsed({"list"}).line.exitStatus, kBadConfiguration);  // of which brokers?
}

TEST(KafkaOptions, OfAFileThatAreMisspeltAreRefusedByFileLineAndNearestKey) {
    std::string const file = ::testing::TempDir() + "/timingwheel-kafka-misspelt.toml";
    std::vector<std::pair<std::string, char const*>> const bad{
        {std::string{"batch = 5\ngroup = \"a\0b\"\n", 22},
         ":2: group: it must be without a zero byte"},
        {"brokers = \"a:1\"\n# memroy-mb\n\n  memroy-mb = 5\n",
         ":4: memroy-mb: there is no such option: did you mean memory-mb?"},
        {"\"brakers\"=\"b:2\"\r\n", ":1: brakers: there is no such option: did you mean brokers?"},
        {"batch = 5\nmax_delay_days=3",
         ":2: max_delay_days: there is no such option: did you mean "
         "max-delay-days?"},
        {"jsn = true\n", ":1: jsn: there is no such option: did you mean "},
        {"limit = 5\n", ":1: limit: there is no such option: did you mean "},
        {"brokers a:1\n", ":1: brokers a:1: there is no such option: did you mean brokers?"},
        {"batch = 5\n[limits]\nbatch = 6\n", ":2: limits: there are no sections: leave it out"},
        {"limits.batch = 6\n", ":1: limits: there are no sections: leave it out"}};
    for (auto const& [text, reason] : bad) {
        std::ofstream{file} << text;
        Parsed const refused = parsed({"--brokers", "a:1", "--config", file});
        EXPECT_EQ(refused.line.exitStatus, kBadConfiguration) << reason;
        EXPECT_THAT(refused.said, HasSubstr(file + reason));
    }
}

}  // namespace
}  // namespace timingwheel::test::kafka
