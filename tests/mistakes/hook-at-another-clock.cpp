// The same for a hook.
// g++ says: OtherClock = std::chrono::_V2::system_clock
// clang++ says: std::chrono::system_clock
#include <timingwheel/SystemTimer.h>

#include <chrono>

void f(timingwheel::SystemTimer& timer, timingwheel::TimerHookBase& hook,
       std::chrono::system_clock::time_point monday) {
    timer.schedule(hook, monday);
}
