#pragma once

#include <atomic>
#include <cstdint>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Counts the shares of a keeper that were given back, and says which was the last one.
///
/// Each entry that remembers the keeper has a share, which keeps the keeper in memory. The keeper
/// counts under its lock those that it makes. Once the timer is gone, orphan() subtracts them.
///
/// Thread safety  any number of threads; orphan() once
class DroppedShares {
public:
    /// Counts `count` more. True if the timer is gone and no share is left.
    bool drop(std::int64_t count) noexcept {
        // Counts up from 0 while the timer lives and up to 0 after it is gone.
        return count_.fetch_add(count, std::memory_order_acq_rel) == -count;
    }
    /// The timer is gone, and the keeper has made `made` shares. True if none is left.
    bool orphan(std::int64_t made) noexcept {
        return count_.fetch_sub(made, std::memory_order_acq_rel) == made;
    }

private:
    std::atomic<std::int64_t> count_{0};
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
