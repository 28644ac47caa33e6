#pragma once

#include "components/kafka/client/Client.h"
#include "components/kafka/daemon/Metrics.h"
#include "components/kafka/daemon/Options.h"
#include "components/kafka/daemon/Topics.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

namespace timingwheel {
inline namespace v1 {
namespace kafka {

/// What all partitions of a worker share.
struct Shared {
    Options const& options;
    Topics& topics;
    Metrics& metrics;
    rd_kafka_t* consumer;
    /// What is pending in all of them.
    std::atomic<std::size_t> memory{0};

    bool isFull() const noexcept { return memory.load() > options.memory * 1'000'000; }
};

/// A partition that the group has assigned to this worker: what all that work for it know.
struct Assignment {
    Assignment(Shared& all, std::int32_t partition)
        : shared{all},
          number{partition},
          metrics{std::make_shared<Metrics::OfPartition>(all.metrics, partition)} {}

    Shared& shared;
    std::int32_t const number;
    /// May outlive the assignment.
    std::shared_ptr<Metrics::OfPartition> const metrics;
    std::atomic<bool> isStopping{false};

    /// Where the dead letters of its timers come from: "topic/partition".
    std::string sourceOfLetters() const {
        return shared.options.state + "/" + std::to_string(number);
    }
    /// Ends early if it is stopping.
    void pause(std::chrono::milliseconds length) const {
        using Steady = std::chrono::steady_clock;
        auto const until = Steady::now() + length;
        while (!isStopping && Steady::now() < until)
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
};

/// The time of day.
inline std::int64_t nowInMilliseconds() {
    using namespace std::chrono;
    return floor<milliseconds>(system_clock::now().time_since_epoch()).count();
}

/// How long the client waits for a broker's answer where a partition asks for offsets.
inline constexpr int kOffsetTimeout = 10'000;  // ms

}  // namespace kafka
}  // namespace v1
}  // namespace timingwheel
