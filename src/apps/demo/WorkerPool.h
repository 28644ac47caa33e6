#pragma once

#include <timingwheel/Executor.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace demo {

/// A thread pool with a bounded queue, as a timer's executor, which needs only `execute`.
class WorkerPool {
public:
    WorkerPool(unsigned threads, std::size_t mostQueued);
    ~WorkerPool();
    WorkerPool(WorkerPool const&) = delete;
    WorkerPool& operator=(WorkerPool const&) = delete;

    /// Throws RejectedExecution when the queue is full.
    void execute(timingwheel::Claim claim);

private:
    void work();

    std::size_t const mostQueued_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<timingwheel::Claim> queue_;
    bool closed_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace demo
