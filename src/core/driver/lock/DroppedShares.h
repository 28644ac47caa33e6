#pragma once

#include "core/driver/lock/Bias.h"

#include <atomic>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// Counts the shares of a keeper that were given back, and says which was the last one.
///
/// Each entry that remembers the keeper has a share, which keeps the keeper in memory. The keeper
/// counts under its lock those that it makes. Once the timer is gone, orphan() subtracts them.
///
/// One thread, as a rule the one that schedules here, counts without an atomic instruction. That
/// would wait until all that the thread has written before is in the cache: a sixth of a pair.
///
/// Thread safety  any number of threads; orphan() once
class DroppedShares {
public:
    /// Counts `count` more. True if the timer is gone and no share is left.
    bool drop(std::int64_t count) noexcept {
        if (bias_.enter()) {
            favourites_ += count;
            bias_.leaveEntered();  // from here on orphan() may end, and the keeper with it
            return false;
        }
        // Counts up from 0 while the timer lives and up to 0 after it is gone.
        return count_.fetch_add(count, std::memory_order_acq_rel) == -count;
    }
    /// Favours the calling thread, if that is the first one to call this. Under the keeper's lock,
    /// before orphan().
    void favourThisThread() noexcept { bias_.restore(); }
    /// Whether a thread is favoured. Any thread, for tests.
    bool isBiased() const noexcept { return bias_.stands(); }
    /// The timer is gone, and the keeper has made `made` shares. True if none is left.
    bool orphan(std::int64_t made) noexcept {
        // Without the mutex: nobody restores it any more.
        bias_.revoke();
        std::int64_t const left = made - favourites_;
        return count_.fetch_sub(left, std::memory_order_acq_rel) == left;
    }

private:
    Bias bias_;
    std::int64_t favourites_ = 0;  // by the thread that is favoured, while the bias stands
    std::atomic<std::int64_t> count_{0};
};

}  // namespace timingwheel::inline v1::detail
