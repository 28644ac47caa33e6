// A task that wants an argument, behind a stop token.
// says: a task is called with nothing, or with a Timeout const&
#include <timingwheel/SystemTimer.h>

#include <chrono>

void f(timingwheel::SystemTimer& timer, std::stop_token token) {
    timer.newTimeout(timingwheel::untilStopped(token, [](int) {}), std::chrono::seconds{30});
}
