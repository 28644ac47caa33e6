// A time point of the wall clock.
// g++ says: OtherClock = std::chrono::_V2::system_clock
// clang++ says: std::chrono::system_clock
#include <timingwheel/SystemTimer.h>

#include <chrono>

void f(timingwheel::SystemTimer& timer, std::chrono::system_clock::time_point monday) {
    timer.newTimeout([] {}, monday);
}
