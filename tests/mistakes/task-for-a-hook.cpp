// Other libraries schedule tasks; here schedule() is for hooks.
// says: schedule() takes a TimerHook: call newTimeout()
#include <timingwheel/SystemTimer.h>

#include <chrono>

void f(timingwheel::SystemTimer& timer) {
    timer.schedule([] {}, std::chrono::seconds{30});
}
