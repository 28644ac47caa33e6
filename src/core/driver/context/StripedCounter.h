#pragma once

#include <timingwheel/detail/platform/CacheLine.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace timingwheel::inline v1::detail {

/// A small number for each thread: 0 for the first that calls this, 1 for the next, and so on.
inline std::size_t indexOfThisThread() noexcept {
    // Each schedule calls this, so constant initialisation spares it a guard.
    constexpr std::size_t kNone = SIZE_MAX;
    static constinit std::atomic<std::size_t> next{0};
    static constinit thread_local std::size_t index = kNone;
    if (index == kNone) [[unlikely]]
        index = next.fetch_add(1, std::memory_order_relaxed);
    return index;
}

/// Counts without a lock. Threads count on different cache lines while there are enough: on a
/// single line two threads are slower than one.
class StripedCounter {
public:
    /// REQUIRES: a power of two.
    explicit StripedCounter(std::size_t stripes)
        : stripes_{std::make_unique<Stripe[]>(stripes)}, mask_{stripes - 1} {}

    std::size_t stripes() const noexcept { return mask_ + 1; }

    void add(std::uint64_t count = 1) noexcept {
        stripes_[indexOfThisThread() & mask_].count.fetch_add(count, std::memory_order_relaxed);
    }

    /// What this thread has added, but what did not happen then.
    void takeBack(std::uint64_t count = 1) noexcept { add(-count); }

    std::uint64_t sum() const noexcept {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i <= mask_; ++i)
            sum += stripes_[i].count.load(std::memory_order_relaxed);
        return sum;
    }

private:
    struct alignas(kCacheLine) Stripe {
        std::atomic<std::uint64_t> count{0};
    };

    std::unique_ptr<Stripe[]> stripes_;
    std::size_t mask_;
};

}  // namespace timingwheel::inline v1::detail
