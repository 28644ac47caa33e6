#include "driver/EventLog.h"

#include <new>

namespace timingwheel {
inline namespace v1 {
namespace detail {

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
