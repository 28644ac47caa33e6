// A time point of the wall clock.
// says: a time is a delay, or a time point of the timer's clock
#include <timingwheel/SystemTimer.h>

#include <chrono>

void f(timingwheel::SystemTimer& timer, std::chrono::system_clock::time_point monday) {
    timer.newTimeout([] {}, monday);
}
