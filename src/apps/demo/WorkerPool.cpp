#include "apps/demo/WorkerPool.h"

#include <timingwheel/RejectedExecution.h>

#include <utility>

namespace demo {

WorkerPool::WorkerPool(unsigned threads, std::size_t mostQueued) : mostQueued_{mostQueued} {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
    {
        std::lock_guard const lock{mutex_};
        closed_ = true;
    }
    changed_.notify_all();
}

void WorkerPool::execute(timingwheel::Claim claim) {
    {
        std::lock_guard const lock{mutex_};
        if (queue_.size() >= mostQueued_)
            throw timingwheel::RejectedExecution{"the pool's queue is full"};
        queue_.push_back(std::move(claim));
    }
    changed_.notify_one();
}

void WorkerPool::work() {
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
        if (queue_.empty()) return;
        timingwheel::Claim claim = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        claim();
        lock.lock();
    }
}

}  // namespace demo
