#pragma once

#include "core/driver/TimeoutKeeper.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// A hold of a keeper's lock. After unlocking it does what it owes to the outside:
///
///   - wakes the driver if the next wake became earlier,
///   - delivers recorded events,
///   - releases a node that has ended.
class TimeoutKeeper::Section {
public:
    /// What is owed: to ring the driver's alarm by a tick; nothing; or something, but only to an
    /// observer. So one comparison answers both. Neither value is a tick, since a clock may show
    /// the last tick.
    static constexpr std::int64_t kNothing = INT64_MAX;
    static constexpr std::int64_t kOnlyToObserver = INT64_MAX - 1;
    static_assert(kOnlyToObserver > Tick::kMax);

    explicit Section(TimeoutKeeper& keeper) noexcept : keeper_{keeper}, owed_{keeper.owedAtLeast_} {
        keeper_.lock();
    }
    Section(Section const&) = delete;
    Section& operator=(Section const&) = delete;
    ~Section() {
        unlock();
        if (owedShares_ > 0) keeper_.dropShares(owedShares_);
    }

    /// While it lives, the lock is released.
    class Released {
    public:
        explicit Released(Section& section) noexcept : section_{section} { section_.unlock(); }
        Released(Released const&) = delete;
        Released& operator=(Released const&) = delete;
        ~Released() { section_.keeper_.lock(); }

    private:
        Section& section_;
    };

    /// The driver must come by `tick`.
    void ringBy(Tick tick) noexcept { owed_ = std::min(owed_, tick.value()); }
    /// Drops the driver's reference to a node that has ended, after unlocking.
    void releaseLater(TimeoutNode& node) noexcept { ended_ = &node; }

    /// Waits until `condition`. The thread that makes it true notifies `signal`.
    template <class Condition>
    void waitFor(Signal& signal, Condition&& condition) {
        // Who notifies takes the mutex, also on the loop's thread.
        if (keeper_.drivenBy_ == DrivenBy::loop) holdMutex();
        std::unique_lock<std::mutex> lock{keeper_.mutex_, std::adopt_lock};
        ++signal.waiters;
        signal.happened.wait(lock, condition);
        --signal.waiters;
        lock.release();
    }

    /// Makes the lock lean to the calling thread, if it is the first one that asks, and if nobody
    /// waits for a condition, since that thread goes on in its own hold.
    void leanToThisThread() noexcept {
        if (keeper_.runEnded_.waiters == 0 && keeper_.drained_.waiters == 0)
            keeper_.bias_.restore();
    }

private:
    /// The loop's thread may hold the lock without the mutex. Lets others in between.
    void holdMutex() noexcept {
        if (!keeper_.bias_.leave()) return;
        keeper_.mutex_.lock();
        keeper_.bias_.revoke();
    }
    void unlock() noexcept {
        TimeoutNode* const ended = std::exchange(ended_, nullptr);
        if (owed_ != kNothing) return unlockAndPay(ended);
        keeper_.unlock();
        release(ended);
    }
    void unlockAndPay(TimeoutNode* ended) noexcept;
    void unlockAndRing(std::int64_t tick) noexcept;
    void unlockRingAndDeliver(std::int64_t tick) noexcept;
    /// Counts shares to give back together, since a runner releases one node after another.
    void release(TimeoutNode* node) noexcept {
        if (node != nullptr && node->release()) ++owedShares_;
    }

    TimeoutKeeper& keeper_;
    std::int64_t owed_;
    TimeoutNode* ended_ = nullptr;
    std::int64_t owedShares_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
