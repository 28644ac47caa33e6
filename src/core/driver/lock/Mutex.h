#pragma once

#include "core/base/platform/ProcessBarrier.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace timingwheel::inline v1::detail {

/// A mutex for holds of less than a microsecond or two. To take it costs an exchange, and to
/// release it a store. `std::mutex` needs a second exchange, to find out whether a thread sleeps.
/// Here the thread that is about to sleep pays for that, with a barrier in all threads of the
/// process.
///
///   - A thread that is about to sleep says so, then makes all threads see it, then tries again.
///   - A thread that releases the mutex looks afterwards whether another one sleeps.
///   - So one of the two sees the other.
///
/// Where the system has no such barrier, a release costs an exchange, too.
///
/// Source         D. Dice, H. Huang, M. Yang: "Asymmetric Dekker Synchronization", 2001
/// Fairness       none: a thread that was woken may find the mutex taken again
/// Lifetime       unlock() still uses the mutex when another thread has it already
/// Thread safety  any number of threads
class Mutex {
public:
    /// REQUIRES: with a barrier, that the system has one.
    explicit Mutex(bool hasBarrier = ProcessBarrier::isAvailable()) noexcept
        : hasBarrier_{hasBarrier} {}
    Mutex(Mutex const&) = delete;
    Mutex& operator=(Mutex const&) = delete;

    void lock() noexcept {
        if (!try_lock()) [[unlikely]]
            lockSlowly();
    }
    bool try_lock() noexcept { return !isTaken_.exchange(true, std::memory_order_acquire); }
    void unlock() noexcept {
        if (!hasBarrier_) [[unlikely]]
            return unlockFenced();
        isTaken_.store(false, std::memory_order_release);
        // For the compiler. The processor's part is in sleep().
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (sleepers_.load(std::memory_order_relaxed) != 0) [[unlikely]]
            wakeOne();
    }

private:
    void lockSlowly() noexcept;
    void unlockFenced() noexcept;
    void sleep() noexcept;
    void wakeOne() noexcept;

    std::atomic<bool> isTaken_{false};
    bool const hasBarrier_;
    std::atomic<std::uint32_t> sleepers_{0};
    std::mutex sleeping_;
    std::condition_variable released_;
};

}  // namespace timingwheel::inline v1::detail
