#include "core/driver/context/TimerClock.h"

#include <thread>

namespace timingwheel::inline v1::detail {

void TimerClock::freeze() noexcept {
    frozenAt_ = now();
    isFrozen_.store(true, std::memory_order_seq_cst);
    // A thread that saw the clock running is counted here. Reading a clock is quick, so yield.
    while (askers_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
}

Clock::TimePoint TimerClock::readOrFrozen(Reading reading) const noexcept {
    auto const read = [&] { return reading == Reading::exact ? clock_.now() : clock_.coarseNow(); };
    if (!mayGo_) return isFrozen() ? frozenAt_ : read();
    // Count first, then look whether it is frozen: freeze() does the reverse, so one of the two
    // sees the other.
    askers_.fetch_add(1, std::memory_order_seq_cst);
    bool const mayAsk = !isFrozen_.load(std::memory_order_seq_cst);
    Clock::TimePoint const time = mayAsk ? read() : frozenAt_;
    askers_.fetch_sub(1, std::memory_order_release);
    return time;
}

}  // namespace timingwheel::inline v1::detail
