#pragma once

#if defined(_WIN32)
#    include "core/base/platform/WaitableTimer.h"
#else
#    include <chrono>
#    include <condition_variable>
#    include <mutex>
#endif

namespace timingwheel::inline v1::detail {

/// How one thread sleeps until a time of the steady clock, and how others wake it. sleepUntil() and
/// wake() keep what Clock::Waiter promises.
#if defined(_WIN32)
using Sleeper = WaitableTimer;
#else
class Sleeper {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    void sleepUntil(TimePoint until) noexcept {
        std::unique_lock lock{mutex_};
        if (!isWoken_) wait(lock, until);
        isWoken_ = false;
    }

    void wake() noexcept {
        {
            std::lock_guard const lock{mutex_};
            isWoken_ = true;
        }
        condition_.notify_one();
    }

private:
    /// Longer waits are cut to this and repeated. So no clock arithmetic in a wait comes near its
    /// limits, where some standard libraries return at once.
    static constexpr std::chrono::hours kLongestWait{1};

    void wait(std::unique_lock<std::mutex>& lock, TimePoint until) {
        if (until == TimePoint::max()) return condition_.wait(lock);
        TimePoint const start = std::chrono::steady_clock::now();
        bool const isFar = until > start && until - start > kLongestWait;
        condition_.wait_until(lock, isFar ? start + kLongestWait : until);
    }

    std::mutex mutex_;  // protects what follows
    std::condition_variable condition_;
    bool isWoken_ = false;
};
#endif

}  // namespace timingwheel::inline v1::detail
