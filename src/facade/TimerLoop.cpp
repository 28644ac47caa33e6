#include <timingwheel/TimerLoop.h>

namespace timingwheel {
inline namespace v1 {

TimerLoop::~TimerLoop() = default;

}  // namespace v1
}  // namespace timingwheel
