#include "loads/TimerLoads.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace timingwheel::bench {
namespace {

/// The timer that one writes oneself: a map, a mutex, a condition variable and a thread.
///
/// It does less than SystemTimer promises, all in its favour: a token must not be used once its
/// task has run, and an exception of a task ends the program.
class MultimapTimer {
    using Map = std::multimap<SteadyTime, std::function<void()>>;

public:
    using Token = Map::iterator;

    explicit MultimapTimer(std::chrono::nanoseconds) : thread_{[this] { run(); }} {}
    ~MultimapTimer() {
        {
            std::lock_guard const lock{mutex_};
            stopped_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    MultimapTimer(MultimapTimer const&) = delete;
    MultimapTimer& operator=(MultimapTimer const&) = delete;

    void schedule(Token& token, std::chrono::nanoseconds delay, Callback callback) {
        SteadyTime const deadline = std::chrono::steady_clock::now() + delay;
        bool earliest = false;
        {
            std::lock_guard const lock{mutex_};
            earliest = map_.empty() || deadline < map_.begin()->first;
            token = map_.emplace(deadline, callback);
        }
        if (earliest) changed_.notify_one();
    }

    void cancel(Token& token) {
        std::lock_guard const lock{mutex_};
        map_.erase(token);
    }

    void settle() {}
    std::size_t pending() const {
        std::lock_guard const lock{mutex_};
        return map_.size();
    }

private:
    void run() {
        std::unique_lock lock{mutex_};
        while (!stopped_) {
            if (map_.empty()) {
                changed_.wait(lock);
            } else if (SteadyTime const next = map_.begin()->first;
                       next > std::chrono::steady_clock::now()) {
                changed_.wait_until(lock, next);
            } else {
                auto const node = map_.extract(map_.begin());
                lock.unlock();
                node.mapped()();
                lock.lock();
            }
        }
    }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Map map_;
    bool stopped_ = false;
    std::thread thread_;
};

Registration const registration{
    {"Multimap", "std::multimap",
     "with a mutex, a condition variable and a thread; of `std::function`"},
    timerLoads<MultimapTimer>()};

}  // namespace
}  // namespace timingwheel::bench
