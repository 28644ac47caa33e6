#include "components/kafka/daemon/Metrics.h"

#include "components/kafka/daemon/TimeOfDay.h"

#include <timingwheel/version.h>

#include <librdkafka/rdkafka.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace timingwheel::inline v1::kafka {

namespace {

std::vector<double> const kSeconds{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,
                                   1,     2,     5,     10,   30,   60,   300, 3600};

// A partition whose work and whose brokers are silent for longer stands still.
constexpr std::chrono::seconds kPatience{10};

// A consumer's thread that waits for partitions to stop, or for brokers to seek, goes round sooner.
constexpr std::chrono::minutes kLongestRound{2};

// How often a partition shows when its timers are due.
constexpr std::int64_t kShowing = 1'000;

}  // namespace

Metrics::Metrics()
    : scheduled_{counter("scheduled_total", "Schedules that were taken in")},
      pushedBack_{counter("pushed_back_total", "Push-backs that were in time")},
      cancelled_{counter("cancelled_total", "Cancels that were in time")},
      tooLate_{counter("too_late_total", "Push-backs and cancels of what was not pending")},
      refused_{counter("refused_total", "Commands that went to the dead letters")},
      delivered_{counter("delivered_total", "Timers that were delivered")},
      failed_{counter("failed_total", "Timers that went to the dead letters")},
      aborted_{counter("aborted_transactions_total", "Transactions that were made again")},
      lost_{counter("lost_commands_total", "Commands that retention removed unread")},
      failedTakeOvers_{counter("failed_takeovers_total", "Take-overs that have to begin anew")},
      lateness_{histogram("lateness_seconds", "From a timer's time to its transaction")},
      transactions_{histogram("transaction_seconds", "Duration of a transaction")},
      takeOvers_{histogram("takeover_seconds", "Of a take-over, without attempts that failed")},
      memory_{gauge("memory_bytes", "Memory that pending timers take")} {
    prometheus::BuildGauge()
        .Name("timingwheel_build_info")
        .Help("1, with the versions of the program and of librdkafka")
        .Register(registry_)
        .Add({{"version", TIMINGWHEEL_VERSION_STRING}, {"librdkafka", rd_kafka_version_str()}})
        .Set(1);
}

std::string Metrics::text() const {
    auto families = registry_.Collect();
    auto ofPartitions = partitions_.Collect();
    families.insert(families.end(), std::make_move_iterator(ofPartitions.begin()),
                    std::make_move_iterator(ofPartitions.end()));
    return prometheus::TextSerializer{}.Serialize(families);
}

std::string Metrics::whyNotReady() const {
    if (!isAssigned_) return "the group has not assigned its partitions yet\n";
    auto const now = Steady::now();
    std::lock_guard const lock{partitions_.mutex};
    std::string why;
    for (auto const& [number, partition] : partitions_.byNumber)
        if (!partition->isWorking(now))
            why += "partition " + std::to_string(number) + " stands still\n";
    return why;
}

bool Metrics::isAlive(Steady::time_point now) const noexcept {
    return wentRound_.load() + kLongestRound >= now;
}

void Metrics::add(Tally const& tally) {
    auto const add = [](prometheus::Counter& counter, std::uint64_t number) {
        if (number > 0) counter.Increment(static_cast<double>(number));
    };
    add(scheduled_, tally.scheduled);
    add(pushedBack_, tally.pushedBack);
    add(cancelled_, tally.cancelled);
    add(tooLate_, tally.tooLate);
    add(refused_, tally.refused);
    add(delivered_, tally.delivered);
    add(failed_, tally.failed);
    add(lost_, tally.lost);
}

prometheus::Counter& Metrics::counter(std::string const& name, std::string const& help) {
    return prometheus::BuildCounter()
        .Name("timingwheel_" + name)
        .Help(help)
        .Register(registry_)
        .Add({});
}

prometheus::Gauge& Metrics::gauge(std::string const& name, std::string const& help) {
    return prometheus::BuildGauge()
        .Name("timingwheel_" + name)
        .Help(help)
        .Register(registry_)
        .Add({});
}

prometheus::Histogram& Metrics::histogram(std::string const& name, std::string const& help) {
    return prometheus::BuildHistogram()
        .Name("timingwheel_" + name)
        .Help(help)
        .Register(registry_)
        .Add({}, kSeconds);
}

Metrics::OfPartition::OfPartition(Metrics& metrics, std::int32_t partition)
    : all_{metrics.partitions_}, number_{partition} {
    std::lock_guard const lock{all_.mutex};
    all_.byNumber[number_] = this;
}

Metrics::OfPartition::~OfPartition() {
    std::lock_guard const lock{all_.mutex};
    auto const found = all_.byNumber.find(number_);
    if (found->second == this) all_.byNumber.erase(found);
}

void Metrics::OfPartition::show(DueMinutes const& minutes, std::int64_t now) {
    if (shown_ && now >= *shown_ && now - *shown_ < kShowing) return;
    shown_ = now;
    for (std::size_t i = 0; i < kSpans.size(); ++i)
        dueWithin[i] = minutes.dueBy(now + kSpans[i].milliseconds);
    farthest = minutes.farthest().value_or(0);
}

bool Metrics::OfPartition::isWorking(Steady::time_point now) const noexcept {
    return worked.load() + kPatience >= now;
}

Metrics::OfStandby::OfStandby(Metrics& metrics, std::int32_t partition)
    : all_{metrics.partitions_}, number_{partition} {
    std::lock_guard const lock{all_.mutex};
    all_.followed[number_] = this;
}

Metrics::OfStandby::~OfStandby() {
    std::lock_guard const lock{all_.mutex};
    all_.followed.erase(number_);
}

std::vector<prometheus::MetricFamily> Metrics::Partitions::Collect() const {
    using namespace std::chrono;
    std::lock_guard const lock{mutex};
    std::vector<prometheus::MetricFamily> families;
    auto const begin = [&](char const* name, char const* help) {
        auto& family = families.emplace_back();
        family.name = std::string{"timingwheel_"} + name;
        family.help = help;
        family.type = prometheus::MetricType::Gauge;
    };
    auto const add = [&](std::int32_t number, auto value) -> auto& {
        auto& metric = families.back().metric.emplace_back();
        metric.label.push_back({"partition", std::to_string(number)});
        metric.gauge.value = static_cast<double>(value);
        return metric;
    };
    auto const gaugeOf = [&](auto const& all, char const* name, char const* help,
                             auto const& valueOf) {
        begin(name, help);
        for (auto const& [number, partition] : all) add(number, valueOf(*partition));
    };
    auto const gauge = [&](char const* name, char const* help, auto const& valueOf) {
        gaugeOf(byNumber, name, help, valueOf);
    };
    std::int64_t const now = nowInMilliseconds();
    gauge("ready", "1 while the partition works, and brokers answer; else 0",
          [steady = Steady::now()](OfPartition const& partition) {
              return partition.isWorking(steady) ? 1 : 0;
          });
    gauge("pending", "Timers that are pending",
          [](OfPartition const& partition) { return partition.pending.load(); });
    gauge("overdue_seconds", "How late the earliest undelivered timer is",
          [now](OfPartition const& partition) {
              std::int64_t const earliest = partition.earliest;
              return earliest < now ? static_cast<double>(now - earliest) / 1e3 : 0;
          });
    gauge("commands_lag", "Offsets of commands that were not taken in yet",
          [](OfPartition const& partition) { return partition.lag.load(); });
    gauge("farthest_seconds", "From now to the end of the last minute in which a timer is due",
          [now](OfPartition const& partition) {
              return static_cast<double>(std::max<std::int64_t>(partition.farthest - now, 0)) / 1e3;
          });
    begin(
        "due_within",
        "Timers that are due within the horizon, and all that are overdue: counted by the minute, "
        "the last minute in proportion");
    for (auto const& [number, partition] : byNumber)
        for (std::size_t i = 0; i < OfPartition::kSpans.size(); ++i)
            add(number, partition->dueWithin[i].load())
                .label.push_back({"horizon", OfPartition::kSpans[i].name});
    gaugeOf(followed, "standby_pending", "Timers that another worker has, and this one follows",
            [](OfStandby const& partition) { return partition.pending.load(); });
    begin("standby_lag", "Offsets of the state up to its end, which were not read yet");
    for (auto const& [number, partition] : followed)
        if (auto const lag = partition->lag.load(); lag != OfStandby::kUnknown) add(number, lag);
    return families;
}

}  // namespace timingwheel::inline v1::kafka
