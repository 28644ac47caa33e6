#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace timingwheel::inline v1::detail {

/// Something to wait for under a lock, with Lock::wait. Costs one comparison while nobody waits.
///
/// Thread safety  none: guarded by the keeper's lock, except await()
class Signal {
public:
    void notify() noexcept {
        if (waiters == 0) return;
        {
            std::lock_guard const held{mutex_};
            ++times_;
        }
        happened_.notify_all();
    }

    /// How often a waiter was notified.
    std::uint64_t times() const noexcept { return times_; }
    /// Waits until a waiter was notified more often than `times`. Without the keeper's lock.
    void await(std::uint64_t times) {
        std::unique_lock held{mutex_};
        happened_.wait(held, [this, times] { return times_ != times; });
    }

    std::size_t waiters = 0;

private:
    std::mutex mutex_;
    std::condition_variable happened_;
    std::uint64_t times_ = 0;  // written under both locks
};

}  // namespace timingwheel::inline v1::detail
