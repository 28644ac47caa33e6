#include "core/base/OptionChecks.h"
#include "core/base/platform/Thread.h"

#include <timingwheel/RejectedExecution.h>
#include <timingwheel/TaskPool.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace timingwheel::inline v1 {

namespace {

TaskPoolOptions checked(TaskPoolOptions options) {
    detail::requireAtMost("threads", options.threads, TaskPool::kMaxThreads);
    detail::requireAtLeast("queueCapacity", options.queueCapacity, 1);
    detail::checkThreadName(options.name);
    if (options.threads == 0)
        options.threads = std::max<std::size_t>(1, std::thread::hardware_concurrency());
    return options;
}

}  // namespace

/// What the pool and its threads share. It holds no lock while a task runs or dies, or while it
/// wakes a thread.
class TaskPool::Queue {
public:
    explicit Queue(TaskPoolOptions checkedOptions) : options{std::move(checkedOptions)} {}

    /// Queues the task. Returns false, and leaves it alone, if there is no room for it.
    bool add(Claim& task) {
        std::unique_lock lock{mutex_};
        if (tasks_.size() >= options.queueCapacity) return false;
        tasks_.push_back(std::move(task));
        if (idle_ == 0) return true;
        --idle_;
        lock.unlock();
        wake_.notify_one();
        return true;
    }

    /// What a thread of the pool does: runs tasks until end() was called and none waits.
    void serve() noexcept {
        std::unique_lock lock{mutex_};
        for (;;) {
            while (tasks_.empty()) {
                if (isEnding_) return;
                ++idle_;
                wake_.wait(lock);
            }
            Claim task{std::move(tasks_.front())};
            tasks_.pop_front();
            lock.unlock();
            task();
            lock.lock();
        }
    }

    void end() noexcept {
        {
            std::lock_guard const lock{mutex_};
            isEnding_ = true;
        }
        wake_.notify_all();
    }

    std::size_t size() const noexcept {
        std::lock_guard const lock{mutex_};
        return tasks_.size();
    }

    TaskPoolOptions const options;

private:
    mutable std::mutex mutex_;  // protects what follows
    std::condition_variable wake_;
    std::deque<Claim> tasks_;
    /// Threads that sleep and have not been woken: a burst of tasks wakes each of them once. One
    /// that wakes by itself is still counted, which later costs a needless wake-up.
    std::size_t idle_ = 0;
    bool isEnding_ = false;
};

TaskPool::TaskPool(TaskPoolOptions options)
    : queue_{std::make_shared<Queue>(checked(std::move(options)))} {
    try {
        startThreads(queue_->options.threads);
    } catch (...) {
        end();
        throw;
    }
}

void TaskPool::startThreads(std::size_t count) {
    threads_.reserve(count);
    detail::SignalsBlocked const blocked;
    try {
        while (threads_.size() < count) {
            threads_.emplace_back([queue = queue_] {
                detail::nameThisThread(queue->options.name);
                queue->serve();
            });
        }
    } catch (std::system_error const& error) {
        std::string const which =
            std::to_string(threads_.size() + 1) + " of " + std::to_string(count);
        throw std::system_error{error.code(), "task pool \"" + queue_->options.name +
                                                  "\": thread " + which + " could not be started"};
    }
}

TaskPool::~TaskPool() { end(); }

void TaskPool::end() noexcept {
    queue_->end();
    bool const isOwnThread = std::any_of(
        threads_.begin(), threads_.end(),
        [](std::thread const& thread) { return thread.get_id() == std::this_thread::get_id(); });
    // A thread of the pool that runs this cannot wait for itself, nor for others that may wait for
    // it. Each holds a share of the queue; the last one frees it.
    for (std::thread& thread : threads_) isOwnThread ? thread.detach() : thread.join();
}

void TaskPool::execute(Claim claim) {
    if (queue_->add(claim)) return;
    // The task may destroy the pool, so nothing of it is touched after the call.
    TaskPoolOptions const& options = queue_->options;
    if (options.whenFull == WhenFull::callerRuns) return claim();
    std::string const capacity = std::to_string(options.queueCapacity);
    throw RejectedExecution{"task pool \"" + options.name + "\" is full: " + capacity +
                            " tasks wait, and queueCapacity is " + capacity};
}

std::size_t TaskPool::queued() const noexcept { return queue_->size(); }

}  // namespace timingwheel::inline v1
