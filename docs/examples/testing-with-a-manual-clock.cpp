// When your own code uses timeouts and its tests should neither sleep nor be flaky.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <atomic>
#include <cstdio>

using namespace std::chrono_literals;

// What is to be tested: it takes any timer, and knows nothing of clocks. One thread calls it, but
// the task runs on the timer's thread: hence the atomic.
class LoginAttempts final {
public:
    explicit LoginAttempts(timingwheel::Timer& timer) : timer_{timer} {}

    void fail() {
        if (++failures_ == 3) unlocking_ = timer_.newTimeout([this] { failures_ = 0; }, 30min);
    }
    bool isLocked() const { return failures_ >= 3; }

private:
    timingwheel::Timer& timer_;
    std::atomic<int> failures_ = 0;
    timingwheel::ScopedTimeout unlocking_;  // the last member
};

int main() {
    std::atomic<int> runs = 0;  // before the timer, whose tasks use it

    // The real timer, thread and all: only the time comes from the test.
    timingwheel::ManualClock clock;
    timingwheel::SystemTimer timer{{.clock = clock}};
    LoginAttempts attempts{timer};

    for (int i = 0; i < 3; ++i) attempts.fail();
    clock.advance(29min + 59s);
    if (!attempts.isLocked()) return 1;
    std::puts("locked for 29 min 59 s");
    clock.advance(1s);  // when this returns, all that was due has run
    if (attempts.isLocked()) return 1;
    std::puts("open again after 30 min");

    // Every task sees its own time: one that schedules itself again runs at each second of an hour.
    struct EachSecond {
        timingwheel::Timer& timer;
        std::atomic<int>& runs;
        void operator()() const {
            ++runs;
            timer.newTimeout(*this, 1s);
        }
    };
    timer.newTimeout(EachSecond{timer, runs}, 1s);
    clock.advance(1h);
    std::printf("%d runs in an hour\n", runs.load());
    return runs == 3'600 ? 0 : 1;
}
