#include "context/PendingLimit.h"

#include <timingwheel/RejectedExecution.h>

namespace timingwheel {
inline namespace v1 {
namespace detail {

void PendingLimit::acquireCounted() {
    std::size_t taken = taken_.load(std::memory_order_acquire);
    do {
        if (taken >= most_) {
            refused_.fetch_add(1, std::memory_order_relaxed);
            throw RejectedExecution{"timer \"" + timerName_ + "\": " + std::to_string(taken) +
                                    " timeouts are pending: maxPendingTimeouts is " +
                                    std::to_string(most_)};
        }
    } while (!taken_.compare_exchange_weak(taken, taken + 1, std::memory_order_acq_rel));
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
