#include "core/driver/Section.h"

#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Out of line, so that a hold that owes nothing pays one comparison.
void TimeoutKeeper::Section::unlockAndPay(TimeoutNode* ended) noexcept {
    std::int64_t const ring = std::exchange(owed_, keeper_.owedAtLeast_);
    if (keeper_.events_.empty())
        unlockAndRing(ring);
    else
        unlockRingAndDeliver(ring);
    release(ended);
}

void TimeoutKeeper::Section::unlockAndRing(std::int64_t tick) noexcept {
    keeper_.unlock();
    if (tick < kOnlyToObserver) keeper_.context_.alarm.ring(Tick{tick});
}

/// The observer may be destroyed once the timer has stopped, so a frame stands for the delivery:
/// stop() waits for it.
void TimeoutKeeper::Section::unlockRingAndDeliver(std::int64_t tick) noexcept {
    RunFrame frame{keeper_.context_};
    keeper_.running_.add(frame);
    std::vector<TimerEvent> const events = keeper_.events_.takeAll();
    unlockAndRing(tick);
    for (TimerEvent const& event : events) keeper_.observer_->onEvent(event);
    keeper_.lock();
    keeper_.endFrame(frame);
    keeper_.unlock();
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
