#pragma once

#include "core/base/TimeArithmetic.h"
#include "core/base/platform/TimeCounter.h"

#include <timingwheel/detail/platform/NoInline.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// The steady clock, read without a fence: the calling thread's last exact reading, as long as the
/// processor's counter says that it is at most `kAge` old. Otherwise the thread reads the exact
/// clock. So a reading is never ahead of the clock, and behind it by at most `kLag`.
///
/// `kLag` is twice `kAge`. The other half is for all by which counter and clock may differ:
///
/// - The kernel speeds the clock up, by at most 11 % of the counter's rate.
/// - A counter that is read without a fence is read early, by some microseconds at the very most.
/// - Counters of two processors differ by less than the kernel can observe.
///
/// A counter that goes back or jumps forward leads to an exact reading. One that turns out to run
/// at less than about half its rate is not used again by any thread.
///
/// `Hardware` has `count()`, which is the counter, `exact()`, which is the clock, and
/// `isSourceOfClock()`. TimeCounter is the real one.
///
/// Cost           a read of the counter and a comparison; once in `kAge` a reading of the clock
/// Thread safety  any number of threads, each with a `Reading` of its own
template <class Hardware>
class RecentTime {
public:
    using nanoseconds = std::chrono::nanoseconds;

    static constexpr nanoseconds kAge = std::chrono::microseconds{32};
    static constexpr nanoseconds kLag = 2 * kAge;

    /// An exact reading, and the counter before it.
    struct Reading {
        std::uint64_t count = 0;  // 0: none yet
        TimePoint time{};
    };

    constexpr RecentTime() = default;

    /// Returns false if there is no such counter: now() is exact then. Takes some 50 us. To be
    /// called before now(), by one thread.
    bool begin() noexcept {
        if (Hardware::isSourceOfClock()) window_.store(countsOfAge(), std::memory_order_relaxed);
        return isInUse();
    }
    bool isInUse() const noexcept { return window_.load(std::memory_order_relaxed) != 0; }

    TimePoint now(Reading& last) noexcept {
        std::uint64_t const count = Hardware::count();
        if (count - last.count >= window_.load(std::memory_order_relaxed)) [[unlikely]]
            renew(last, count);
        return last.time;
    }

private:
    // The count is the earlier one of the two. So a thread that loses its processor in between
    // holds the reading for older than it is.
    TIMINGWHEEL_NO_INLINE void renew(Reading& last, std::uint64_t count) noexcept {
        Reading const next{count, Hardware::exact()};
        std::uint64_t const window = window_.load(std::memory_order_relaxed);
        if (window != 0 && last.count != 0) {
            // Not less than what has passed between the two exact readings.
            std::uint64_t const ages = (Hardware::count() - last.count) / window;
            auto const lags = static_cast<std::uint64_t>((next.time - last.time) / kLag);
            if (lags > ages + 1) window_.store(0, std::memory_order_relaxed);
        }
        last = next;
    }

    /// How far the counter gets in `kAge`, or less: as many counts as lie between two exact
    /// readings for sure. A thread that loses its processor meanwhile finds too few, so the most of
    /// some tries.
    static std::uint64_t countsOfAge() noexcept {
        constexpr nanoseconds kTry = std::chrono::microseconds{10};
        constexpr int kReadings = 10'000;  // of a clock that stands still
        std::uint64_t most = 0;
        for (int tries = 0; tries < 4; ++tries) {
            TimePoint const begin = Hardware::exact();
            std::uint64_t const first = Hardware::count();
            std::uint64_t last = first;
            TimePoint end = begin;
            for (int i = 0; i < kReadings && end - begin < kTry; ++i) {
                last = Hardware::count();
                end = Hardware::exact();
            }
            if (last > first && end - begin >= kTry)
                most = std::max(most, (last - first) * static_cast<std::uint64_t>(kAge.count()) /
                                          static_cast<std::uint64_t>((end - begin).count()));
        }
        return most;
    }

    std::atomic<std::uint64_t> window_{0};  // counts in kAge; 0: the counter is not used
};

/// The recent time of this machine.
///
/// Thread safety  every function may be called from any thread
class SteadyTime {
public:
    /// Whether there is a counter for it. Finds out once. To be called before recent().
    static bool hasRecent() noexcept {
        static bool const has = time_.begin();
        return has;
    }
    static TimePoint recent() noexcept { return time_.now(last_); }
    static constexpr std::chrono::nanoseconds kLag = RecentTime<TimeCounter>::kLag;

private:
    static inline constinit RecentTime<TimeCounter> time_;
    static inline constinit thread_local RecentTime<TimeCounter>::Reading last_;
};

}  // namespace timingwheel::inline v1::detail
