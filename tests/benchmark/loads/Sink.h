#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace timingwheel::bench {

using SteadyTime = std::chrono::steady_clock::time_point;

/// Where the callbacks of a contender arrive. One thread at a time fires it, as every contender
/// here does, so counting needs no locked instruction.
class Sink {
public:
    /// Keeps the time of each if `recordsTimes`.
    explicit Sink(std::size_t expected, bool recordsTimes = false)
        : expected_{expected}, times_(recordsTimes ? expected : 0) {}

    void fired(std::uint32_t id) noexcept {
        if (!times_.empty()) times_[id] = std::chrono::steady_clock::now();
        count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    std::size_t count() const noexcept { return count_.load(std::memory_order_acquire); }

    /// Waits until all have fired. Throws if that takes longer than `patience`.
    void waitForAll(std::chrono::nanoseconds patience) const {
        auto const giveUp = std::chrono::steady_clock::now() + patience;
        while (count() < expected_) {
            if (std::chrono::steady_clock::now() > giveUp) {
                throw std::runtime_error{"only " + std::to_string(count()) + " of " +
                                         std::to_string(expected_) + " timers fired in time"};
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }

    /// When each fired; once all have.
    std::vector<SteadyTime> const& times() const noexcept { return times_; }

private:
    std::size_t const expected_;
    std::vector<SteadyTime> times_;
    std::atomic<std::size_t> count_{0};
};

/// What every contender runs: two words, as a small lambda has.
struct Callback {
    Sink* sink;
    std::uint32_t id;
    void operator()() const noexcept { sink->fired(id); }
};

}  // namespace timingwheel::bench
