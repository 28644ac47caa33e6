#pragma once

#include "frame/Machine.h"

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

/// Where the callbacks of a contender arrive. Fired by one thread at a time, which is what every
/// contender here does; so counting needs no locked instruction, which would cost more than some
/// of what is compared.
class Sink {
public:
    enum class Record : std::uint8_t {
        count,
        times,   ///< when each fired
        hasRun,  ///< whether each has, for a thread that schedules it again then
    };

    /// A point of a run, and what the thread that fires had used of a processor by then.
    struct Moment {
        SteadyTime time{};
        std::int64_t cpuNanoseconds = 0;
        static Moment now() { return {std::chrono::steady_clock::now(), threadCpuNanoseconds()}; }
    };

    explicit Sink(std::size_t expected, Record record = Record::count)
        : expected_{expected},
          records_{record != Record::count},
          times_(record == Record::times ? expected : 0),
          hasRun_(record == Record::hasRun ? expected : 0) {
        for (auto& flag : hasRun_) flag.store(true, std::memory_order_relaxed);
    }

    void fired(std::uint32_t id) noexcept {
        if (records_) record(id);
        std::size_t const count = count_.load(std::memory_order_relaxed) + 1;
        if (count == 1) first_ = Moment::now();
        if (count == expected_) last_ = Moment::now();
        count_.store(count, std::memory_order_release);
    }

    std::size_t count() const noexcept { return count_.load(std::memory_order_acquire); }

    /// True once after each run, and at first: then it may be scheduled again.
    bool takeHasRun(std::size_t id) noexcept {
        if (!hasRun_[id].load(std::memory_order_acquire)) return false;
        hasRun_[id].store(false, std::memory_order_relaxed);
        return true;
    }

    /// Waits until all have fired. Throws if that takes longer than `patience`.
    void waitForAll(std::chrono::nanoseconds patience) const { waitFor(expected_, patience); }
    void waitFor(std::size_t expected, std::chrono::nanoseconds patience) const {
        auto const giveUp = std::chrono::steady_clock::now() + patience;
        while (count() < expected) {
            if (std::chrono::steady_clock::now() > giveUp) {
                throw std::runtime_error{"only " + std::to_string(count()) + " of " +
                                         std::to_string(expected) + " timers fired in time"};
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }

    /// When each, the first and the last one fired; once all have.
    std::vector<SteadyTime> const& times() const noexcept { return times_; }
    Moment first() const noexcept { return first_; }
    Moment last() const noexcept { return last_; }

private:
    void record(std::uint32_t id) noexcept {
        if (!times_.empty()) times_[id] = std::chrono::steady_clock::now();
        if (!hasRun_.empty()) hasRun_[id].store(true, std::memory_order_release);
    }

    std::size_t const expected_;
    bool const records_;
    std::vector<SteadyTime> times_;
    std::vector<std::atomic<bool>> hasRun_;
    Moment first_;
    Moment last_;
    std::atomic<std::size_t> count_{0};
};

/// What every contender is given to run: two words, as a small lambda would be.
struct Callback {
    Sink* sink;
    std::uint32_t id;
    void operator()() const noexcept { sink->fired(id); }
};

}  // namespace timingwheel::bench
