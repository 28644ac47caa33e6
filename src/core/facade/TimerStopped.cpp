#include <timingwheel/detail/TimerStopped.h>

namespace timingwheel::inline v1::detail {

TimerStopped::~TimerStopped() = default;

}  // namespace timingwheel::inline v1::detail
