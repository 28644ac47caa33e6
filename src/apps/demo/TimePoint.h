#pragma once

#include <timingwheel/Clock.h>

namespace demo {

using TimePoint = timingwheel::Clock::TimePoint;

}  // namespace demo
