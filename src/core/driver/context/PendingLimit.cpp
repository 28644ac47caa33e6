#include "core/driver/context/PendingLimit.h"

#include <timingwheel/RejectedExecution.h>

namespace timingwheel::inline v1::detail {

/// The count never exceeds the limit, not even for a moment: otherwise another thread might be
/// refused although there is room.
bool PendingLimit::acquireCounted() noexcept {
    std::size_t count = count_.load(std::memory_order_relaxed);
    do {
        if (count >= most_) {
            refused_.fetch_add(1, std::memory_order_relaxed);
            return false;
        }
    } while (!count_.compare_exchange_weak(count, count + 1, std::memory_order_acquire,
                                           std::memory_order_relaxed));
    return true;
}

void PendingLimit::refuse() const {
    throw RejectedExecution{"timer \"" + timerName_ + "\": " + std::to_string(most_) +
                            (most_ == 1 ? " timeout is" : " timeouts are") +
                            " pending: maxPendingTimeouts is " + std::to_string(most_)};
}

}  // namespace timingwheel::inline v1::detail
