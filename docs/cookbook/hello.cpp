#include <timingwheel/SystemTimer.h>

#include <cstdio>

int main() {
    using namespace std::chrono_literals;
    timingwheel::SystemTimer timer;  // 1 ms ticks, one thread; tasks run on it

    timingwheel::Timeout timeout = timer.newTimeout([] { std::puts("no answer"); }, 30s);
    timer.newTimeout([] { std::puts("hello, 50 ms later"); }, 50ms);

    if (timeout.cancel()) std::puts("the answer came in time");
    timer.drain();  // waits until everything pending has run
}
