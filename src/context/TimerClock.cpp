#include "context/TimerClock.h"

#include <thread>

namespace timingwheel {
inline namespace v1 {
namespace detail {

void TimerClock::freeze() noexcept {
    frozenAt_ = now();
    isFrozen_.store(true, std::memory_order_seq_cst);
    // Whoever saw the clock running is counted here. Reading a clock takes no time to speak of.
    while (askers_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
}

Clock::TimePoint TimerClock::nowOrFrozen() const noexcept {
    if (!mayGo_) return isFrozen() ? frozenAt_ : now();
    // The count first, then the question: freeze() does it the other way round, so one of the two
    // sees the other.
    askers_.fetch_add(1, std::memory_order_seq_cst);
    bool const mayAsk = !isFrozen_.load(std::memory_order_seq_cst);
    Clock::TimePoint const time = mayAsk ? now() : frozenAt_;
    askers_.fetch_sub(1, std::memory_order_release);
    return time;
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
