// A task that wants an argument that nobody has.
// says: a task is called with nothing, or with a Timeout const&
#include <timingwheel/SystemTimer.h>

#include <chrono>

void f(timingwheel::SystemTimer& timer) {
    timer.newTimeout([](int) {}, std::chrono::seconds{30});
}
