#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/prometheus.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

TimerStatistics knownStatistics() {
    TimerStatistics known;
    known.name = "mail";
    known.pending = 1;
    known.scheduled = 1'234'567;
    known.fired = 3;
    known.runs = 4;
    known.cancelled = 5;
    known.returned = 6;
    known.rejected = 7;
    known.rescheduled = 8;
    known.refused = 9;
    known.wakeUps = 10;
    known.cascaded = {0, 11, 12};
    known.longestRun = 1500ms;
    known.maxLateness = 70us;
    known.lateness.add(0ns, 2);
    known.lateness.add(7ns);
    known.lateness.add(70us);
    return known;
}

std::string metricsOf(TimerStatistics const& statistics) {
    std::ostringstream out;
    out << std::hex << std::showbase << std::setprecision(1);  // makes no difference
    writePrometheus(out, statistics);
    return out.str();
}

TEST(Prometheus, WritesAllThatATimerHasDone) {
    char const* const expected = R"(# HELP timingwheel_scheduled_total Timeouts that were accepted.
# TYPE timingwheel_scheduled_total counter
timingwheel_scheduled_total{timer="mail"} 1234567
# HELP timingwheel_fired_total Timeouts whose task was entered.
# TYPE timingwheel_fired_total counter
timingwheel_fired_total{timer="mail"} 3
# HELP timingwheel_runs_total Tasks entered; a periodic one counts every time.
# TYPE timingwheel_runs_total counter
timingwheel_runs_total{timer="mail"} 4
# HELP timingwheel_cancelled_total Timeouts that were cancelled.
# TYPE timingwheel_cancelled_total counter
timingwheel_cancelled_total{timer="mail"} 5
# HELP timingwheel_returned_total Timeouts that stop() returned.
# TYPE timingwheel_returned_total counter
timingwheel_returned_total{timer="mail"} 6
# HELP timingwheel_rejected_total Timeouts that the executor refused or dropped.
# TYPE timingwheel_rejected_total counter
timingwheel_rejected_total{timer="mail"} 7
# HELP timingwheel_rescheduled_total Deadlines that were moved.
# TYPE timingwheel_rescheduled_total counter
timingwheel_rescheduled_total{timer="mail"} 8
# HELP timingwheel_refused_total Schedules refused at the limit of pending timeouts.
# TYPE timingwheel_refused_total counter
timingwheel_refused_total{timer="mail"} 9
# HELP timingwheel_wakeups_total How often the driver thread slept and woke.
# TYPE timingwheel_wakeups_total counter
timingwheel_wakeups_total{timer="mail"} 10
# HELP timingwheel_cascaded_total Timeouts moved down, by the level that they left.
# TYPE timingwheel_cascaded_total counter
timingwheel_cascaded_total{timer="mail",level="1"} 11
timingwheel_cascaded_total{timer="mail",level="2"} 12
# HELP timingwheel_pending Timeouts accepted and not run.
# TYPE timingwheel_pending gauge
timingwheel_pending{timer="mail"} 1
# HELP timingwheel_longest_run_seconds The longest run of a task.
# TYPE timingwheel_longest_run_seconds gauge
timingwheel_longest_run_seconds{timer="mail"} 1.5
# HELP timingwheel_max_lateness_seconds The latest start of a task.
# TYPE timingwheel_max_lateness_seconds gauge
timingwheel_max_lateness_seconds{timer="mail"} 0.00007
# HELP timingwheel_lateness_seconds How late tasks began.
# TYPE timingwheel_lateness_seconds histogram
timingwheel_lateness_seconds_bucket{timer="mail",le="0.000001"} 3
timingwheel_lateness_seconds_bucket{timer="mail",le="0.000004"} 3
timingwheel_lateness_seconds_bucket{timer="mail",le="0.000016"} 3
timingwheel_lateness_seconds_bucket{timer="mail",le="0.000064"} 3
timingwheel_lateness_seconds_bucket{timer="mail",le="0.000256"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="0.001024"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="0.004096"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="0.016384"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="0.065536"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="0.262144"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="1.048576"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="4.194304"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="16.777216"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="67.108864"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="268.435456"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="1073.741824"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="4294.967296"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="17179.869184"} 4
timingwheel_lateness_seconds_bucket{timer="mail",le="+Inf"} 4
timingwheel_lateness_seconds_sum{timer="mail"} 0.000073734
timingwheel_lateness_seconds_count{timer="mail"} 4
)";
    EXPECT_EQ(metricsOf(knownStatistics()), expected);
}

TEST(Prometheus, EscapesTheValuesOfLabels) {
    TimerStatistics statistics;
    statistics.name = "a\"b\\c\nd";
    std::ostringstream out;
    writePrometheus(out, statistics, {{"service", "\\\"\n"}, {"zone", "eu"}});
    EXPECT_NE(
        out.str().find(R"(timingwheel_pending{timer="a\"b\\c\nd",service="\\\"\n",zone="eu"} 0)"
                       "\n"),
        std::string::npos)
        << out.str();
}

/// The histogram of one timer, as a reader of the format sees it.
struct Histogram {
    std::vector<std::uint64_t> buckets;
    std::uint64_t count = 0;
    double sum = 0;
};

/// Reads all lines, strictly.
std::map<std::string, Histogram> read(std::string const& text) {
    std::map<std::string, Histogram> timers;
    std::set<std::string> types;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line};
        std::string first;
        words >> first;
        if (first == "#") {
            std::string kind;
            std::string name;
            words >> kind >> name;
            EXPECT_TRUE(kind != "TYPE" || types.insert(name).second) << "twice: " << name;
            continue;
        }
        auto const labels = first.find('{');
        auto const end = line.rfind("} ");
        if (labels == std::string::npos || end == std::string::npos) {
            ADD_FAILURE() << "no metric: " << line;
            continue;
        }
        std::string const name = line.substr(0, labels);
        std::string const timer = line.substr(labels + 8, line.find('"', labels + 8) - labels - 8);
        std::string const value = line.substr(end + 2);
        std::size_t parsed = 0;
        double const number = std::stod(value, &parsed);
        EXPECT_EQ(parsed, value.size()) << line;
        Histogram& histogram = timers[timer];
        if (name == "timingwheel_lateness_seconds_bucket")
            histogram.buckets.push_back(static_cast<std::uint64_t>(number));
        else if (name == "timingwheel_lateness_seconds_count")
            histogram.count = static_cast<std::uint64_t>(number);
        else if (name == "timingwheel_lateness_seconds_sum")
            histogram.sum = number;
        else
            EXPECT_EQ(types.count(name), 1U) << name;
    }
    return timers;
}

TEST(Prometheus, FoldsAHistogramIntoAFewBucketsThatAddUp) {
    TimerStatistics timers[2];
    timers[0].name = "one";
    timers[1].name = "two";
    double seconds = 0;
    for (std::int64_t lateness = 1; lateness < std::int64_t{1} << 62; lateness *= 2) {
        timers[0].lateness.add(std::chrono::nanoseconds{lateness}, 3);
        seconds += 3e-9 * static_cast<double>(lateness);
    }
    std::ostringstream out;
    writePrometheus(out, timers);
    auto const read = test::read(out.str());
    ASSERT_EQ(read.size(), 2U);
    for (auto const& [name, histogram] : read) {
        EXPECT_LE(histogram.buckets.size(), 20U);
        ASSERT_FALSE(histogram.buckets.empty());
        EXPECT_TRUE(std::is_sorted(histogram.buckets.begin(), histogram.buckets.end()));
        EXPECT_EQ(histogram.buckets.back(), histogram.count);
    }
    Histogram const& one = read.at("one");
    EXPECT_EQ(one.count, 3U * 62);
    EXPECT_GE(one.sum, seconds);
    EXPECT_LE(one.sum, 1.1251 * seconds);
    EXPECT_LT(one.buckets[17], one.count) << "some are later than the last bound";
    EXPECT_EQ(read.at("two").count, 0U);
}

TEST(Prometheus, ShowsWhatATimerHasDone) {
    ManualClock clock;
    ManualTimer timer{{.name = "real", .clock = clock}};
    timer.newTimeout([] {}, 1s);
    timer.newTimeout([] {}, 5s);
    clock.advance(2s);
    std::string const text = metricsOf(timer.statistics());
    EXPECT_NE(text.find("timingwheel_pending{timer=\"real\"} 1\n"), std::string::npos) << text;
    EXPECT_EQ(read(text).at("real").count, 1U);
}

}  // namespace
}  // namespace timingwheel::test
