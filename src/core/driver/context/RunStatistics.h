#pragma once

#include <timingwheel/TimerStatistics.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// How late and how long tasks ran. Written by every thread that runs tasks.
class RunStatistics {
public:
    void wasLate(std::chrono::nanoseconds lateness, std::uint64_t times = 1) noexcept {
        add(counts_[LatenessHistogram::bucketOf(lateness)], times);
        raise(maxLateness_, lateness.count());
        if (lateness.count() < minLateness_.load(std::memory_order_relaxed))
            lower(minLateness_, lateness.count());
    }
    void ranFor(std::chrono::nanoseconds duration) noexcept {
        raise(longestRun_, duration.count());
    }

    void readInto(TimerStatistics& statistics) const {
        for (std::size_t i = 0; i < LatenessHistogram::kBuckets; ++i) {
            std::uint64_t const times = counts_[i].load(std::memory_order_relaxed);
            if (times > 0) statistics.lateness.add(LatenessHistogram::upperBound(i), times);
        }
        using std::chrono::nanoseconds;
        statistics.maxLateness = nanoseconds{maxLateness_.load(std::memory_order_relaxed)};
        std::int64_t const least = minLateness_.load(std::memory_order_relaxed);
        statistics.minLateness = nanoseconds{least == INT64_MAX ? 0 : least};
        statistics.longestRun = nanoseconds{longestRun_.load(std::memory_order_relaxed)};
    }

private:
    using Counter = std::atomic<std::uint64_t>;

    static void add(Counter& counter, std::uint64_t times) noexcept {
        counter.fetch_add(times, std::memory_order_relaxed);
    }

    static void raise(std::atomic<std::int64_t>& most, std::int64_t value) noexcept {
        std::int64_t current = most.load(std::memory_order_relaxed);
        while (value > current &&
               !most.compare_exchange_weak(current, value, std::memory_order_relaxed)) {
        }
    }
    static void lower(std::atomic<std::int64_t>& least, std::int64_t value) noexcept {
        std::int64_t current = least.load(std::memory_order_relaxed);
        while (value < current &&
               !least.compare_exchange_weak(current, value, std::memory_order_relaxed)) {
        }
    }

    std::array<Counter, LatenessHistogram::kBuckets> counts_{};
    std::atomic<std::int64_t> maxLateness_{0};
    std::atomic<std::int64_t> minLateness_{INT64_MAX};
    std::atomic<std::int64_t> longestRun_{0};
};

}  // namespace timingwheel::inline v1::detail
