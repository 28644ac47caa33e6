#include "driver/Mutex.h"

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Whoever had to wait takes it as one that is waited for: it does not know whether it was alone.
void Mutex::waitAndLock(State seen) noexcept {
    if (seen != kWaitedFor) seen = state_.exchange(kWaitedFor, std::memory_order_acquire);
    while (seen != kFree) {
        state_.wait(kWaitedFor, std::memory_order_relaxed);
        seen = state_.exchange(kWaitedFor, std::memory_order_acquire);
    }
}

void Signal::wake() noexcept {
    times_.fetch_add(1, std::memory_order_relaxed);
    times_.notify_all();
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
