// When tasks block or take long: give them a thread pool, so that no task waits for another. And
// how to detect a slow task on a timer that has none.

#include <timingwheel/SystemTimer.h>

#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <cstdio>
#include <latch>
#include <string>
#include <thread>

using namespace std::chrono_literals;

int main() {
    boost::asio::thread_pool pool{2};  // anything with execute(f) will do
    std::atomic<int> done{0};
    {
        timingwheel::SystemTimer timer{{.executor = pool}};  // the pool outlives it
        std::latch both{2};  // opens only if both tasks run at the same time
        for (int report = 0; report < 2; ++report) {
            timer.newTimeout([&] { both.arrive_and_wait(), ++done; }, 5ms);
        }
        timer.drain();  // waits for the pool, too
    }
    std::printf("%d blocking tasks ran side by side\n", done.load());

    // Without a pool a task that blocks holds up all others. The first question in every incident:
    int slow = 0;  // the handler runs where the task did: here on the timer's thread
    timingwheel::SystemTimer timer{{.name = "billing",
                                    .slowTaskThreshold = 10ms,
                                    .slowTaskHandler = [&](timingwheel::SlowTask const& task) {
                                        bool const isSlow = task.duration >= 10ms;
                                        std::printf("timer \"%s\": a task took %s 10 ms\n",
                                                    std::string{task.timerName}.c_str(),
                                                    isSlow ? "more than" : "less than");
                                        slow += isSlow;
                                    }}};
    timer.newTimeout([] { std::this_thread::sleep_for(20ms); }, 1ms);
    timer.drain();  // after this the thread is gone
    return done == 2 && slow == 1 ? 0 : 1;
}
