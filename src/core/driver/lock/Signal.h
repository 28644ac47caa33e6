#pragma once

#include <condition_variable>
#include <cstddef>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Something to wait for under a lock, with Lock::wait. Costs one comparison while nobody waits.
///
/// Thread safety  none: guarded by the keeper's lock
struct Signal {
    void notify() noexcept {
        if (waiters > 0) happened.notify_all();
    }
    std::condition_variable happened;
    std::size_t waiters = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
