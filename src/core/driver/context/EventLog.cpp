#include "core/driver/context/EventLog.h"

#include "core/timeout/TimeoutNode.h"

#include <new>

namespace timingwheel::inline v1::detail {

// Out of line, so that an operation reserves no stack for an event that nobody observes.

TimerEvent EventLog::eventOf(Stage stage, TimeoutEntry const* entry) const noexcept {
    TimerEvent event{.stage = stage, .shard = shard_, .entry = entry, .time = clock_->now()};
    if (entry == nullptr) return event;
    event.deadline = entry->deadline();
    event.isPeriodic = !entry->isHook() && static_cast<TimeoutNode const*>(entry)->isPeriodic();
    return event;
}

void EventLog::record(TimerEvent event) noexcept {
    try {
        events_.push_back(event);
        events_.back().number = next_++;
    } catch (std::bad_alloc const&) {
        // An observer that misses a step is better than a timeout that does.
    }
}

void EventLog::record(Stage stage, TimeoutEntry const& entry) noexcept {
    record(eventOf(stage, &entry));
}

}  // namespace timingwheel::inline v1::detail
