#include "core/driver/EventLog.h"

#include "core/timeout/TimeoutNode.h"

#include <new>

namespace timingwheel {
inline namespace v1 {
namespace detail {

TimerEvent makeEvent(TimerEvent::Stage stage, std::uint32_t shard, TimeoutEntry const* entry,
                     Clock::TimePoint time) noexcept {
    TimerEvent event{.stage = stage, .shard = shard, .entry = entry, .time = time};
    if (entry == nullptr) return event;
    event.deadline = entry->deadline();
    event.isPeriodic = !entry->isHook() && static_cast<TimeoutNode const*>(entry)->isPeriodic();
    return event;
}

void EventLog::record(TimerEvent event) noexcept {
    try {
        events_.push_back(event);
        events_.back().number = nextNumber();
    } catch (std::bad_alloc const&) {
        // An observer that misses a step is better than a timeout that does.
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
