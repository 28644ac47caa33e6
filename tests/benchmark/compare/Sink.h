#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

namespace timingwheel::compare {

using SteadyTime = std::chrono::steady_clock::time_point;

/// Where the callbacks of a contender arrive. Fired by one thread at a time, which is what every
/// contender here does; so counting needs no locked instruction, which would cost more than some
/// of what is compared.
class Sink {
public:
    enum class Record : bool { count, times };

    explicit Sink(std::size_t expected, Record record = Record::count)
        : expected_{expected}, times_(record == Record::times ? expected : 0) {}

    void fired(std::uint32_t id) noexcept {
        if (!times_.empty()) times_[id] = std::chrono::steady_clock::now();
        std::size_t const count = count_.load(std::memory_order_relaxed) + 1;
        if (count == expected_) last_ = std::chrono::steady_clock::now();
        count_.store(count, std::memory_order_release);
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

    /// When each and the last one fired; once all have.
    std::vector<SteadyTime> const& times() const noexcept { return times_; }
    SteadyTime last() const noexcept { return last_; }

private:
    std::size_t const expected_;
    std::vector<SteadyTime> times_;
    SteadyTime last_{};
    std::atomic<std::size_t> count_{0};
};

/// What every contender is given to run: two words, as a small lambda would be.
struct Callback {
    Sink* sink;
    std::uint32_t id;
    void operator()() const noexcept { sink->fired(id); }
};

}  // namespace timingwheel::compare
