#include <timingwheel/TimerTask.h>

namespace timingwheel::inline v1 {

TimerTask::~TimerTask() = default;
void TimerTask::cancelled(Timeout const&) {}

}  // namespace timingwheel::inline v1
