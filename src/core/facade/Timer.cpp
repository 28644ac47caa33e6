#include "core/base/OptionChecks.h"

#include <timingwheel/Timer.h>

namespace timingwheel {
inline namespace v1 {

Timer::~Timer() = default;

void Timer::throwEmptyTask() {
    detail::refuseOption("the task", "empty", "something that can be called");
}

void Timer::throwNullObject() {
    detail::refuseOption("the object", "null", "one whose function can be called");
}

}  // namespace v1
}  // namespace timingwheel
