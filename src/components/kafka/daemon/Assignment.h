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

namespace timingwheel::inline v1::kafka {

/// What all partitions of a worker share.
struct Shared {
    Options const& options;
    Topics& topics;
    Metrics& metrics;
    rd_kafka_t* consumer;
    /// What is pending in all of them, and in the copies of those that it follows.
    std::atomic<std::size_t> memory{0};

    bool isFull() const noexcept { return memory.load() > bound(); }
    /// A take-over may go so far, without payloads: so what was pending fits after a restart, too.
    bool isOverfull() const noexcept { return memory.load() > 2 * bound(); }
    /// No room for copies: owners come first, and need some until a copy is gone.
    bool isTight() const noexcept { return memory.load() > bound() / 4 * 3; }

private:
    std::size_t bound() const noexcept { return options.memory * 1'000'000; }
};

/// The part of that memory which the timers of one partition take.
class MemoryShare {
public:
    explicit MemoryShare(Shared& shared) : shared_{shared} {}
    MemoryShare(MemoryShare const&) = delete;
    MemoryShare& operator=(MemoryShare const&) = delete;
    ~MemoryShare() { set(0); }

    void set(std::size_t bytes) {
        shared_.memory += bytes - bytes_;
        bytes_ = bytes;
        shared_.metrics.setMemory(shared_.memory);
    }

private:
    Shared& shared_;
    std::size_t bytes_ = 0;
};

/// A partition for which a thread of this worker is there: it owns it, or follows it.
struct Duty {
    Duty(Shared& all, std::int32_t partition) : shared{all}, number{partition} {}

    Shared& shared;
    std::int32_t const number;
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

/// A partition that the group has assigned to this worker: what all that work for it know.
struct Assignment : Duty {
    Assignment(Shared& all, std::int32_t partition)
        : Duty{all, partition},
          metrics{std::make_shared<Metrics::OfPartition>(all.metrics, partition)} {}

    /// May outlive the assignment.
    std::shared_ptr<Metrics::OfPartition> const metrics;
};

}  // namespace timingwheel::inline v1::kafka
