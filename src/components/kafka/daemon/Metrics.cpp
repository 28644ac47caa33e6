#include "components/kafka/daemon/Metrics.h"

#include <prometheus/metric_family.h>

#include <algorithm>
#include <stdexcept>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

namespace {

std::vector<double> const kSeconds{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,
                                   1,     2,     5,     10,   30,   60,   300, 3600};

// A partition whose work and whose brokers are silent for longer stands still.
constexpr std::chrono::seconds kPatience{10};

}  // namespace

Metrics::Metrics()
    : scheduled_{counter("scheduled_total", "Schedules that were taken in")},
      pushedBack_{counter("pushed_back_total", "Push-backs that were in time")},
      cancelled_{counter("cancelled_total", "Cancels that were in time")},
      tooLate_{counter("too_late_total", "Push-backs and cancels of what was not pending")},
      refused_{counter("refused_total", "Commands that went to the dead letters")},
      delivered_{counter("delivered_total", "Timers that were delivered")},
      failed_{counter("failed_total", "Deliveries that went to the dead letters")},
      aborted_{counter("aborted_transactions_total", "Transactions that were made again")},
      lost_{counter("lost_commands_total", "Commands that retention removed unread")},
      failedTakeOvers_{counter("failed_takeovers_total", "Take-overs that have to begin anew")},
      lateness_{histogram("lateness_seconds", "From a timer's time to its transaction")},
      transactions_{histogram("transaction_seconds", "Duration of a transaction")},
      takeOvers_{histogram("takeover_seconds", "From a partition's assignment to its work")},
      memory_{gauge("memory_bytes", "Memory that pending timers take")} {}

void Metrics::expose(std::string const& address) {
    try {
        exposer_ = std::make_unique<prometheus::Exposer>(address, 1);
    } catch (std::exception const& error) {
        throw std::runtime_error{"--metrics " + address + ": cannot listen there (" + error.what() +
                                 ")"};
    }
    exposer_->RegisterCollectable(registry_);
    exposer_->RegisterCollectable(partitions_);
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
}

prometheus::Counter& Metrics::counter(std::string const& name, std::string const& help) {
    return prometheus::BuildCounter()
        .Name("timingwheel_" + name)
        .Help(help)
        .Register(*registry_)
        .Add({});
}

prometheus::Gauge& Metrics::gauge(std::string const& name, std::string const& help) {
    return prometheus::BuildGauge()
        .Name("timingwheel_" + name)
        .Help(help)
        .Register(*registry_)
        .Add({});
}

prometheus::Histogram& Metrics::histogram(std::string const& name, std::string const& help) {
    return prometheus::BuildHistogram()
        .Name("timingwheel_" + name)
        .Help(help)
        .Register(*registry_)
        .Add({}, kSeconds);
}

Metrics::OfPartition::OfPartition(Metrics& metrics, std::int32_t partition)
    : all_{*metrics.partitions_}, number_{partition} {
    std::lock_guard const lock{all_.mutex};
    all_.byNumber[number_] = this;
}

Metrics::OfPartition::~OfPartition() {
    std::lock_guard const lock{all_.mutex};
    auto const found = all_.byNumber.find(number_);
    if (found->second == this) all_.byNumber.erase(found);
}

std::vector<prometheus::MetricFamily> Metrics::Partitions::Collect() const {
    using namespace std::chrono;
    std::lock_guard const lock{mutex};
    std::vector<prometheus::MetricFamily> families;
    auto const gauge = [&](char const* name, char const* help, auto const& valueOf) {
        auto& family = families.emplace_back();
        family.name = std::string{"timingwheel_"} + name;
        family.help = help;
        family.type = prometheus::MetricType::Gauge;
        for (auto const& [number, partition] : byNumber) {
            auto& metric = family.metric.emplace_back();
            metric.label.push_back({"partition", std::to_string(number)});
            metric.gauge.value = static_cast<double>(valueOf(*partition));
        }
    };
    gauge("ready", "1 while the partition works, and brokers answer; else 0",
          [now = Steady::now()](OfPartition const& partition) {
              return partition.worked.load() + kPatience >= now ? 1 : 0;
          });
    gauge("pending", "Timers that are pending",
          [](OfPartition const& partition) { return partition.pending.load(); });
    gauge("overdue_seconds", "How late the earliest undelivered timer is",
          [now = floor<milliseconds>(system_clock::now().time_since_epoch()).count()](
              OfPartition const& partition) {
              std::int64_t const earliest = partition.earliest;
              return earliest < now ? static_cast<double>(now - earliest) / 1e3 : 0;
          });
    gauge("commands_lag", "Offsets of commands that were not taken in yet",
          [](OfPartition const& partition) { return partition.lag.load(); });
    return families;
}

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
