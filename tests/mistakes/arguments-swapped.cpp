// The delay before the task.
// says: the task comes first, then the delay
#include <timingwheel/SystemTimer.h>

#include <chrono>

void f(timingwheel::SystemTimer& timer) {
    timer.newTimeout(std::chrono::seconds{30}, [] {});
}
