#include "core/driver/context/TimerClock.h"

#include <thread>

namespace timingwheel {
inline namespace v1 {
namespace detail {

void TimerClock::freeze() noexcept {
    frozenAt_ = now();
    isFrozen_.store(true, std::memory_order_seq_cst);
    // A thread that saw the clock running is counted here. Reading a clock is quick, so yield.
    while (askers_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
