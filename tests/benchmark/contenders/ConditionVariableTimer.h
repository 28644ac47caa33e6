#pragma once

#include "compare/TimerAdapter.h"

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace timingwheel::bench {

/// A queue of functions by deadline, for one thread at a time. empty() and size() as usual.
template <class Q>
concept DeadlineQueue =
    requires(Q queue, SteadyTime deadline, std::function<void()> task, typename Q::Token token) {
        { queue.insert(deadline, std::move(task)) } -> std::same_as<typename Q::Token>;
        queue.erase(token);
        { queue.earliest() } -> std::same_as<SteadyTime>;
        { queue.takeEarliest() } -> std::same_as<std::function<void()>>;
    };

/// The timer that one writes oneself: a queue, a mutex, a condition variable and a thread.
///
/// It does less than SystemTimer promises, all in its favour: a token must not be used once its
/// task has run, and what a task throws ends the program.
template <DeadlineQueue Queue>
class ConditionVariableTimer {
public:
    using Token = typename Queue::Token;
    static constexpr bool kFillInOrder = Queue::kFillInOrder;

    explicit ConditionVariableTimer(std::chrono::nanoseconds) : thread_{[this] { run(); }} {}
    ~ConditionVariableTimer() {
        {
            std::lock_guard const lock{mutex_};
            stopped_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    ConditionVariableTimer(ConditionVariableTimer const&) = delete;
    ConditionVariableTimer& operator=(ConditionVariableTimer const&) = delete;

    void schedule(Token& token, std::chrono::nanoseconds delay, Callback callback) {
        SteadyTime const deadline = std::chrono::steady_clock::now() + delay;
        bool earliest = false;
        {
            std::lock_guard const lock{mutex_};
            earliest = queue_.empty() || deadline < queue_.earliest();
            token = queue_.insert(deadline, callback);
        }
        if (earliest) changed_.notify_one();
    }

    void cancel(Token& token) {
        std::lock_guard const lock{mutex_};
        queue_.erase(token);
    }

    void settle() {}
    std::size_t pending() const {
        std::lock_guard const lock{mutex_};
        return queue_.size();
    }

private:
    void run() {
        std::unique_lock lock{mutex_};
        while (!stopped_) {
            if (queue_.empty()) {
                changed_.wait(lock);
            } else if (SteadyTime const next = queue_.earliest();
                       next > std::chrono::steady_clock::now()) {
                changed_.wait_until(lock, next);
            } else {
                auto const task = queue_.takeEarliest();
                lock.unlock();
                task();
                lock.lock();
            }
        }
    }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Queue queue_;
    bool stopped_ = false;
    std::thread thread_;
};

}  // namespace timingwheel::bench
