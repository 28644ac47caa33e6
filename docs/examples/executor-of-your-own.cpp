// When tasks must run somewhere of your own, such as the main loop of a program, and what happens
// to a task that finds no room there.

#include <timingwheel/SystemTimer.h>

#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <future>
#include <mutex>
#include <utility>

using namespace std::chrono_literals;

// An executor is anything with execute(f). What it gets is a claim: "run one of your tasks".
class MainLoop {
public:
    void execute(timingwheel::Claim claim) {
        std::lock_guard const lock{mutex_};
        if (claims_.size() == kRoom) throw timingwheel::RejectedExecution{"the main loop is full"};
        claims_.push_back(std::move(claim));
        changed_.notify_one();
    }

    void runOne() {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [this] { return !claims_.empty(); });
        timingwheel::Claim claim = std::move(claims_.front());
        claims_.pop_front();
        lock.unlock();
        claim();
    }

private:
    static constexpr std::size_t kRoom = 2;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<timingwheel::Claim> claims_;
};

int main() {
    int ran = 0;  // no atomic: all tasks run on this thread
    MainLoop loop;
    std::promise<void> rejection;
    timingwheel::SystemTimer timer{{.executor = loop, .errorHandler = [&](auto const& failure) {
                                        // Told of every task that an executor refuses or drops.
                                        if (!failure.timeout.isRejected()) return;
                                        std::puts("a task was rejected");
                                        rejection.set_value();
                                    }}};
    for (int i = 0; i < 3; ++i) timer.newTimeout([&] { ++ran; }, 5ms);
    timingwheel::Timeout const cancelled = timer.newTimeout([&] { ran += 100; }, 1h);

    rejection.get_future().wait();
    loop.runOne();
    loop.runOne();
    cancelled.cancel();
    std::printf("%d tasks ran on the main thread\n", ran);

    // Rejected is one of the four ways in which a timeout ends: each ends in exactly one.
    timingwheel::TimerStatistics const all = timer.statistics();
    bool const balances = all.scheduled == 4 && all.fired == 2 && all.cancelled == 1 &&
                          all.rejected == 1 && all.pending == 0;
    return ran == 2 && balances ? 0 : 1;
}
