#include "core/base/OptionChecks.h"

#include <timingwheel/Timer.h>

namespace timingwheel::inline v1 {

Timer::~Timer() = default;

namespace detail {

void throwEmptyTask() { refuseOption("the task", "empty", "something that can be called"); }

void throwEmptyTimeAfter() { refuseOption("timeAfter", "empty", "something that can be called"); }

void throwEmptyVisitor() { refuseOption("the visitor", "empty", "something that can be called"); }

void throwNullObject() { refuseOption("the object", "null", "one whose function can be called"); }

}  // namespace detail

}  // namespace timingwheel::inline v1
