// Dropped at once, so cancelled at once.
// says: it cancels the timeout when it is destroyed
#include <timingwheel/SystemTimer.h>

#include <chrono>

void f(timingwheel::SystemTimer& timer) {
    timingwheel::ScopedTimeout{timer.newTimeout([] {}, std::chrono::seconds{30})};
}
