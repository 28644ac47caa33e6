#include "components/kafka/daemon/Metrics.h"

#include <support/Folders.h>
#include <support/Json.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace timingwheel::test::kafka {
namespace {

using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using timingwheel::kafka::DueMinutes;
using timingwheel::kafka::Metrics;

constexpr std::int64_t kSecond = 1'000;
constexpr std::int64_t kHour = 3'600 * kSecond;

std::string read(std::string const& name) {
    std::ifstream file{sourceFolder() + "/docs/beyond/" + name};
    if (!file) throw std::runtime_error{"cannot read " + name};
    return {std::istreambuf_iterator<char>{file}, {}};
}

std::set<std::string> namesIn(std::string const& text, char const* pattern) {
    std::regex const name{pattern};
    std::set<std::string> names;
    for (std::sregex_iterator found{text.begin(), text.end(), name}, end; found != end; ++found)
        names.insert((*found)[1]);
    return names;
}

TEST(Metrics, ShowHowManyTimersAreDueWithinEachSpan) {
    Metrics metrics;
    Metrics::OfPartition partition{metrics, 3};
    DueMinutes minutes;
    for (std::int64_t const at : {-kHour, 59 * kSecond, kHour - 1, 24 * kHour - 1, 24 * kHour})
        minutes.add(at);
    partition.show(minutes, 0);
    std::string const text = metrics.text();
    for (char const* const line : {"horizon=\"1m\"} 2", "horizon=\"1h\"} 3", "horizon=\"24h\"} 4"})
        EXPECT_THAT(
            text, HasSubstr("timingwheel_due_within{partition=\"3\"," + std::string{line} + "\n"));
}

// To count takes as long as there are minutes.
TEST(Metrics, CountWhatIsDueOnceASecond) {
    Metrics metrics;
    Metrics::OfPartition partition{metrics, 0};
    DueMinutes minutes;
    partition.show(minutes, 5 * kSecond);
    minutes.add(0);
    partition.show(minutes, 6 * kSecond - 1);
    EXPECT_EQ(partition.dueWithin[0], 0U);
    partition.show(minutes, 6 * kSecond);
    EXPECT_EQ(partition.dueWithin[0], 1U);
    minutes.remove(0);
    partition.show(minutes, 2 * kSecond);  // the clock was set back
    EXPECT_EQ(partition.dueWithin[0], 0U);
}

TEST(Metrics, ShowHowFarTheFarthestTimerIs) {
    Metrics metrics;
    Metrics::OfPartition partition{metrics, 0};
    EXPECT_THAT(metrics.text(), HasSubstr("timingwheel_farthest_seconds{partition=\"0\"} 0\n"));
    auto const now = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    DueMinutes minutes;
    minutes.add(now + 100 * kHour);
    partition.show(minutes, now);
    std::smatch found;
    std::string const text = metrics.text();
    ASSERT_TRUE(std::regex_search(text, found, std::regex{R"(farthest_seconds\{.*\} (\S+))"}));
    EXPECT_NEAR(std::stod(found[1]), 360'030, 90);  // to a minute
}

TEST(Metrics, AreReadyOnceThereIsAnAssignmentAndWhileEachPartitionWorks) {
    Metrics metrics;
    EXPECT_THAT(metrics.whyNotReady(), HasSubstr("not assigned"));
    metrics.assigned();
    EXPECT_EQ(metrics.whyNotReady(), "");
    Metrics::OfPartition one{metrics, 1};
    Metrics::OfPartition two{metrics, 2};
    EXPECT_EQ(metrics.whyNotReady(), "partition 1 stands still\npartition 2 stands still\n");
    one.worked = Metrics::Steady::now();
    EXPECT_EQ(metrics.whyNotReady(), "partition 2 stands still\n");
    two.worked = Metrics::Steady::now();
    EXPECT_EQ(metrics.whyNotReady(), "");
    two.worked = Metrics::Steady::now() - 11s;
    EXPECT_EQ(metrics.whyNotReady(), "partition 2 stands still\n");
}

TEST(Metrics, AreAliveWhileTheConsumersThreadGoesRound) {
    Metrics metrics;
    auto const now = Metrics::Steady::now();
    EXPECT_TRUE(metrics.isAlive(now + 1min));
    EXPECT_FALSE(metrics.isAlive(now + 3min));
    metrics.wentRound(now + 2min);
    EXPECT_TRUE(metrics.isAlive(now + 3min));
}

TEST(Metrics, HaveAllThatTheRulesAndTheDashboardName) {
    Metrics metrics;
    Metrics::OfPartition const partition{metrics, 0};
    auto const served = namesIn(metrics.text(), R"((?:^|\n)(timingwheel_\w+)[ {])");

    std::string const rules = read("prometheus-rules.yml");
    EXPECT_THAT(namesIn(rules, R"(alert: (\w+)\n\s+expr: .*timingwheel_)"), SizeIs(5));
    EXPECT_THAT(namesIn(rules, R"((timingwheel_\w+))"), IsSubsetOf(served));

    std::set<std::string> shown;
    Json const dashboard = Json::parse(read("dashboard.json"));
    for (Json const& panel : dashboard["panels"].items())
        for (Json const& target : panel["targets"].items()) {
            auto const names = namesIn(target["expr"].text(), R"((timingwheel_\w+))");
            EXPECT_THAT(names, Not(IsEmpty())) << panel["title"].text();
            shown.insert(names.begin(), names.end());
        }
    EXPECT_THAT(shown, IsSubsetOf(served));
    EXPECT_THAT(shown, IsSupersetOf({"timingwheel_ready", "timingwheel_due_within"}));
}

TEST(Metrics, NameTheVersions) {
    EXPECT_THAT(Metrics{}.text(),
                ContainsRegex("\ntimingwheel_build_info.*version=\"[0-9.]+\".* 1\n"));
}

}  // namespace
}  // namespace timingwheel::test::kafka
