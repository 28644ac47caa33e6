#include <timingwheel/TimerTask.h>

namespace timingwheel {
inline namespace v1 {

TimerTask::~TimerTask() = default;
void TimerTask::cancelled(Timeout const&) {}

}  // namespace v1
}  // namespace timingwheel
