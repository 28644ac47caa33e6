#include "apps/kafka/Metrics.h"

#include <stdexcept>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

namespace {

std::vector<double> const kSeconds{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,
                                   1,     2,     5,     10,   30,   60,   300, 3600};

prometheus::Labels labelsOf(std::int32_t partition) {
    return {{"partition", std::to_string(partition)}};
}

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
      lateness_{histogram("lateness_seconds", "From a timer's time to its transaction")},
      transactions_{histogram("transaction_seconds", "What a transaction takes")},
      takeOvers_{histogram("takeover_seconds", "From a partition's assignment to its work")},
      memory_{gauge("memory_bytes", "What is pending takes so much")},
      pending_{gauges("pending", "Timers that are pending")},
      overdue_{gauges("overdue_seconds", "How late the earliest is that was not delivered yet")},
      lag_{gauges("commands_lag", "Commands that were not taken in yet")} {}

void Metrics::expose(std::string const& address) {
    try {
        exposer_ = std::make_unique<prometheus::Exposer>(address, 1);
    } catch (std::exception const& error) {
        throw std::runtime_error{"--metrics " + address + ": cannot listen there (" + error.what() +
                                 ")"};
    }
    exposer_->RegisterCollectable(registry_);
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
    return gauges(name, help).Add({});
}

Metrics::Gauges& Metrics::gauges(std::string const& name, std::string const& help) {
    return prometheus::BuildGauge().Name("timingwheel_" + name).Help(help).Register(*registry_);
}

prometheus::Histogram& Metrics::histogram(std::string const& name, std::string const& help) {
    return prometheus::BuildHistogram()
        .Name("timingwheel_" + name)
        .Help(help)
        .Register(*registry_)
        .Add({}, kSeconds);
}

Metrics::OfPartition::OfPartition(Metrics& metrics, std::int32_t partition)
    : pending{metrics.pending_.Add(labelsOf(partition))},
      overdue{metrics.overdue_.Add(labelsOf(partition))},
      lag{metrics.lag_.Add(labelsOf(partition))},
      metrics_{metrics} {}

Metrics::OfPartition::~OfPartition() {
    metrics_.pending_.Remove(&pending);
    metrics_.overdue_.Remove(&overdue);
    metrics_.lag_.Remove(&lag);
}

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
