#pragma once

#include "apps/kafka/Intake.h"

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

/// What there is to watch, for Prometheus. docs/beyond.md says what each is for.
///
/// Thread safety  every function from any thread
class Metrics {
public:
    /// What a partition shows while it is owned.
    class OfPartition {
    public:
        OfPartition(Metrics& metrics, std::int32_t partition);
        OfPartition(OfPartition const&) = delete;
        OfPartition& operator=(OfPartition const&) = delete;
        ~OfPartition();

        prometheus::Gauge& pending;
        prometheus::Gauge& overdue;
        prometheus::Gauge& lag;

    private:
        Metrics& metrics_;
    };

    Metrics();

    /// Listens on address:port. Throws std::runtime_error.
    void expose(std::string const& address);

    void add(Tally const& tally);
    void delivered(std::chrono::milliseconds late) {
        lateness_.Observe(std::chrono::duration<double>(late).count());
    }
    void committed(std::chrono::steady_clock::duration took) {
        transactions_.Observe(std::chrono::duration<double>(took).count());
    }
    void aborted() { aborted_.Increment(); }
    void tookOver(std::chrono::steady_clock::duration took) {
        takeOvers_.Observe(std::chrono::duration<double>(took).count());
    }
    void lostToRetention(std::int64_t commands) { lost_.Increment(static_cast<double>(commands)); }
    void setMemory(std::size_t bytes) { memory_.Set(static_cast<double>(bytes)); }

private:
    using Gauges = prometheus::Family<prometheus::Gauge>;

    prometheus::Counter& counter(std::string const& name, std::string const& help);
    prometheus::Gauge& gauge(std::string const& name, std::string const& help);
    Gauges& gauges(std::string const& name, std::string const& help);
    prometheus::Histogram& histogram(std::string const& name, std::string const& help);

    std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
    prometheus::Counter& scheduled_;
    prometheus::Counter& pushedBack_;
    prometheus::Counter& cancelled_;
    prometheus::Counter& tooLate_;
    prometheus::Counter& refused_;
    prometheus::Counter& delivered_;
    prometheus::Counter& failed_;
    prometheus::Counter& aborted_;
    prometheus::Counter& lost_;
    prometheus::Histogram& lateness_;
    prometheus::Histogram& transactions_;
    prometheus::Histogram& takeOvers_;
    prometheus::Gauge& memory_;
    Gauges& pending_;
    Gauges& overdue_;
    Gauges& lag_;
    std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
