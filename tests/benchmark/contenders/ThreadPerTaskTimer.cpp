#include "compare/Loads.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>
#include <thread>

namespace timingwheel::bench {
namespace {

/// No timer at all: a thread for each task, which sleeps until then or until it is cancelled.
class ThreadPerTask {
public:
    using Token = std::jthread;
    static constexpr bool kFillInOrder = false;
    static constexpr bool kThreadForEach = true;

    explicit ThreadPerTask(std::chrono::nanoseconds) {}

    void schedule(Token& token, std::chrono::nanoseconds delay, Callback callback) {
        SteadyTime const deadline = std::chrono::steady_clock::now() + delay;
        ++pending_;
        token = std::jthread{[this, deadline, callback](std::stop_token const& stop) {
            std::condition_variable_any sleep;
            std::mutex mutex;
            std::unique_lock lock{mutex};
            sleep.wait_until(lock, stop, deadline, [] { return false; });
            if (!stop.stop_requested()) run(callback);
        }};
    }
    void cancel(Token& token) {
        token.request_stop();
        token.join();
        --pending_;
    }

    void settle() {}
    std::size_t pending() const noexcept { return pending_; }

private:
    /// One task at a time, as with all others.
    void run(Callback callback) {
        std::lock_guard const lock{running_};
        --pending_;
        callback();
    }

    std::atomic<std::size_t> pending_{0};
    std::mutex running_;
};

Registration const registration{
    {
        .id = "ThreadPerTask",
        .title = "a thread per task",
        .usage = "a `std::jthread` for each task, which sleeps on a condition variable until the "
                 "deadline or `request_stop()`; a cancel waits for its end",
        .largest = 10'000,
    },
    timerLoads<ThreadPerTask>()};

}  // namespace
}  // namespace timingwheel::bench
