#pragma once

#include "components/kafka/daemon/DueMinutes.h"
#include "components/kafka/daemon/Outputs.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// What there is to watch, for Prometheus and for probes. docs/beyond.md says what each is for.
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

        /// Shows when they are due, by the clock `now`: anew if a second has passed. REQUIRES: no
        /// other thread calls it.
        void show(DueMinutes const& minutes, std::int64_t now);
        bool isWorking(Steady::time_point now) const noexcept;

        std::atomic<std::size_t> pending{0};
        /// In ms since 1970. Nothing that is pending is due before.
        std::atomic<std::int64_t> earliest{kNone};
        std::atomic<std::int64_t> lag{0};
        /// When the partition last worked, and brokers answered.
        std::atomic<Steady::time_point> worked{kNever};

        struct Span {
            char const* name;
            std::int64_t milliseconds;
        };
        static constexpr std::array<Span, 3> kSpans{
            {{"1m", 60'000}, {"1h", 3'600'000}, {"24h", 86'400'000}}};
        std::array<std::atomic<std::size_t>, kSpans.size()> dueWithin{};
        /// In ms since 1970. Nothing that is pending is due after.
        std::atomic<std::int64_t> farthest{0};

    private:
        std::optional<std::int64_t> shown_;  // when, by the clock
        Partitions& all_;
        std::int32_t number_;
    };

    /// What a partition shows while it is only followed.
    class OfStandby {
    public:
        static constexpr std::int64_t kUnknown = -1;

        OfStandby(Metrics& metrics, std::int32_t partition);
        OfStandby(OfStandby const&) = delete;
        OfStandby& operator=(OfStandby const&) = delete;
        ~OfStandby();

        std::atomic<std::size_t> pending{0};
        /// Not shown while it is unknown: there is no copy, or it does not know the log's end.
        std::atomic<std::int64_t> lag{kUnknown};

    private:
        Partitions& all_;
        std::int32_t number_;
    };

    Metrics();

    /// All of it, in Prometheus' text format.
    std::string text() const;

    /// The group has assigned its partitions to this worker, or none.
    void assigned() noexcept { isAssigned_ = true; }
    /// Why the worker is not ready, a line for each reason; empty if it is: it has its assignment,
    /// and each of its partitions works.
    std::string whyNotReady() const;

    /// The consumer's thread has gone round once more.
    void wentRound(Steady::time_point now = Steady::now()) noexcept { wentRound_ = now; }
    /// False if it has not for longer than brokers that are away can hold it up.
    bool isAlive(Steady::time_point now = Steady::now()) const noexcept;

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
    void setMemory(std::size_t bytes) { memory_.Set(static_cast<double>(bytes)); }

private:
    class Partitions : public prometheus::Collectable {
    public:
        std::vector<prometheus::MetricFamily> Collect() const override;

        mutable std::mutex mutex;
        std::map<std::int32_t, OfPartition const*> byNumber;
        std::map<std::int32_t, OfStandby const*> followed;
    };

    prometheus::Counter& counter(std::string const& name, std::string const& help);
    prometheus::Gauge& gauge(std::string const& name, std::string const& help);
    prometheus::Histogram& histogram(std::string const& name, std::string const& help);

    prometheus::Registry registry_;
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
    Partitions partitions_;
    std::atomic<bool> isAssigned_{false};
    std::atomic<Steady::time_point> wentRound_{Steady::now()};
};

}  // namespace timingwheel::inline v1::kafka
