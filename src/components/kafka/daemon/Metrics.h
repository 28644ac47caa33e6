#pragma once

#include "components/kafka/daemon/Intake.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

/// What there is to watch, for Prometheus. docs/beyond.md says what each is for.
///
/// Thread safety  every function from any thread
class Metrics {
    class Partitions;

public:
    using Steady = std::chrono::steady_clock;

    /// What a partition shows while it is owned. A scrape reads it, whatever the partition's thread
    /// waits for.
    class OfPartition {
    public:
        static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
        static constexpr Steady::time_point kNever = Steady::time_point::min();

        OfPartition(Metrics& metrics, std::int32_t partition);
        OfPartition(OfPartition const&) = delete;
        OfPartition& operator=(OfPartition const&) = delete;
        ~OfPartition();

        std::atomic<std::size_t> pending{0};
        /// In ms since 1970. Nothing that is pending is due before.
        std::atomic<std::int64_t> earliest{kNone};
        std::atomic<std::int64_t> lag{0};
        /// When the partition last worked, and brokers answered.
        std::atomic<Steady::time_point> worked{kNever};

    private:
        Partitions& all_;
        std::int32_t number_;
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
    void failedToTakeOver() { failedTakeOvers_.Increment(); }
    void tookOver(std::chrono::steady_clock::duration took) {
        takeOvers_.Observe(std::chrono::duration<double>(took).count());
    }
    void lostToRetention(std::int64_t commands) { lost_.Increment(static_cast<double>(commands)); }
    void setMemory(std::size_t bytes) { memory_.Set(static_cast<double>(bytes)); }

private:
    class Partitions : public prometheus::Collectable {
    public:
        std::vector<prometheus::MetricFamily> Collect() const override;

        mutable std::mutex mutex;
        std::map<std::int32_t, OfPartition const*> byNumber;
    };

    prometheus::Counter& counter(std::string const& name, std::string const& help);
    prometheus::Gauge& gauge(std::string const& name, std::string const& help);
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
    prometheus::Counter& failedTakeOvers_;
    prometheus::Histogram& lateness_;
    prometheus::Histogram& transactions_;
    prometheus::Histogram& takeOvers_;
    prometheus::Gauge& memory_;
    std::shared_ptr<Partitions> partitions_ = std::make_shared<Partitions>();
    std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
