// When you want to see it work: run something later, change your mind about something else, and
// wait until all the rest has run.

#include <timingwheel/SystemTimer.h>

#include <atomic>
#include <cstdio>

using namespace std::chrono_literals;

int main() {
    std::atomic<int> ready{0};
    timingwheel::SystemTimer timer;  // 1 ms ticks, one thread; the tasks run on that thread

    timingwheel::Timeout alarm = timer.newTimeout([] { std::puts("something burns!"); }, 1h);
    if (alarm.cancel()) std::puts("the smoke alarm is off");

    // A handle may be dropped: the task runs all the same.
    timer.newTimeout([&] { std::puts("the tea is ready"), ++ready; }, 20ms);
    auto const eggs = timer.newTimeout([&] { std::puts("the eggs are ready"), ++ready; }, 50ms);
    timer.reschedule(eggs, 80ms);  // from now: they are to be hard

    timer.drain();  // accepts nothing more, and waits until everything pending has run
    return ready == 2 && alarm.isCancelled() ? 0 : 1;
}
