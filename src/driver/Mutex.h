#pragma once

#include <atomic>
#include <cstdint>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// A mutual exclusion for holds of less than a microsecond: while nobody waits, an atomic operation
/// to take it and another to give it back, both inline. Waiters sleep.
///
/// A schedule and its cancel take it twice. std::mutex does the same behind a call into the C
/// library, with its owner and its kind looked after: 13.5 ns for a hold where this takes 11.
///
/// Source: U. Drepper, "Futexes Are Tricky", the second mutex.
class Mutex {
public:
    Mutex() noexcept = default;
    Mutex(Mutex const&) = delete;
    Mutex& operator=(Mutex const&) = delete;

    void lock() noexcept {
        State seen = kFree;
        if (!state_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire,
                                            std::memory_order_relaxed)) [[unlikely]]
            waitAndLock(seen);
    }
    void unlock() noexcept {
        if (state_.exchange(kFree, std::memory_order_release) == kWaitedFor) [[unlikely]]
            state_.notify_one();
    }

private:
    using State = std::uint32_t;
    static constexpr State kFree = 0;
    static constexpr State kHeld = 1;
    static constexpr State kWaitedFor = 2;  // held, and somebody may sleep

    void waitAndLock(State seen) noexcept;

    std::atomic<State> state_{kFree};
};

/// Something that happens under a Mutex, and is waited for under it.
class Signal {
public:
    /// Costs a comparison while nobody waits. Under the lock.
    void notify() noexcept {
        if (waiters_ > 0) [[unlikely]]
            wake();
    }
    /// Waits until `condition`, which somebody else brings about and then notifies this. Under the
    /// lock, which is given back meanwhile.
    template <class Condition>
    void wait(Mutex& mutex, Condition&& condition) {
        ++waiters_;
        while (!condition()) {
            std::uint32_t const before = times_.load(std::memory_order_relaxed);
            mutex.unlock();
            times_.wait(before, std::memory_order_relaxed);
            mutex.lock();
        }
        --waiters_;
    }

private:
    void wake() noexcept;

    std::atomic<std::uint32_t> times_{0};
    std::uint32_t waiters_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
