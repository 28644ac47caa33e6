// The same for a periodic task.
// says: the task comes first, then the delay
#include <timingwheel/SystemTimer.h>

#include <chrono>

void f(timingwheel::SystemTimer& timer) {
    timer.scheduleAtFixedRate(std::chrono::seconds{30}, std::chrono::seconds{30}, [] {});
}
