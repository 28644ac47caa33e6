// A TimerTask that the timer could not share.
// says: pass a std::shared_ptr of the TimerTask
#include <timingwheel/SystemTimer.h>

#include <chrono>
#include <memory>

void f(timingwheel::SystemTimer& timer, std::unique_ptr<timingwheel::TimerTask> task) {
    timer.newTimeout(std::move(task), std::chrono::seconds{30});
}
