#include "api/ThreadSetup.h"

#include <timingwheel/RejectedExecution.h>
#include <timingwheel/TaskPool.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace timingwheel {
inline namespace v1 {

namespace {

constexpr std::size_t kLongestName = 15;

[[noreturn]] void invalid(std::string const& option, std::string const& value,
                          std::string const& bound) {
    throw std::invalid_argument{option + " is " + value + ": it must be " + bound};
}

TaskPoolOptions checked(TaskPoolOptions options) {
    if (options.threads > TaskPool::kMaxThreads)
        invalid("threads", std::to_string(options.threads),
                "at most " + std::to_string(TaskPool::kMaxThreads));
    if (options.queueCapacity == 0) invalid("queueCapacity", "0", "at least 1");
    if (options.name.size() > kLongestName)
        invalid("name",
                "\"" + options.name + "\", " + std::to_string(options.name.size()) + " bytes long",
                "at most " + std::to_string(kLongestName) + " bytes long");
    if (options.name.find('\0') != std::string::npos)
        invalid("name", "a string with a NUL byte", "without one");
    if (options.threads == 0)
        options.threads = std::max<std::size_t>(1, std::thread::hardware_concurrency());
    return options;
}

}  // namespace

/// What the pool and its threads share. Asio queues, and this counts what waits there.
struct TaskPool::Queue {
    explicit Queue(TaskPoolOptions checkedOptions) : options{std::move(checkedOptions)} {}

    /// Takes one of the places to wait in, if one is free.
    bool enter() noexcept {
        std::size_t count = waiting.load(std::memory_order_relaxed);
        while (count < options.queueCapacity)
            if (waiting.compare_exchange_weak(count, count + 1, std::memory_order_relaxed))
                return true;
        return false;
    }
    void leave() noexcept { waiting.fetch_sub(1, std::memory_order_relaxed); }

    TaskPoolOptions const options;
    std::atomic<std::size_t> waiting{0};
    // Without threads of its own: those that are attached have a name, take no signals, and if one
    // of them cannot be started the others can be stopped. Asio's constructor would hang then.
    boost::asio::thread_pool asio{0};
};

TaskPool::TaskPool(TaskPoolOptions options)
    : queue_{std::make_shared<Queue>(checked(std::move(options)))} {
    startThreads(queue_->options.threads);
}

void TaskPool::startThreads(std::size_t count) {
    threads_.reserve(count);
    detail::SignalsBlocked const blocked;
    try {
        while (threads_.size() < count) {
            threads_.emplace_back([queue = queue_] {
                detail::nameThisThread(queue->options.name);
                queue->asio.attach();
            });
        }
    } catch (std::exception const& error) {
        queue_->asio.stop();
        for (std::thread& thread : threads_) thread.join();
        auto const* const reason = dynamic_cast<std::system_error const*>(&error);
        if (reason == nullptr) throw;
        throw std::system_error{reason->code(),
                                "task pool \"" + queue_->options.name + "\": thread " +
                                    std::to_string(threads_.size() + 1) + " of " +
                                    std::to_string(count) + " could not be started"};
    }
}

TaskPool::~TaskPool() {
    // Lets go of the threads, which leave when nothing is queued. Asio waits for its own, of which
    // there are none.
    queue_->asio.wait();
    bool const isOwnThread = std::any_of(
        threads_.begin(), threads_.end(),
        [](std::thread const& thread) { return thread.get_id() == std::this_thread::get_id(); });
    // One that runs this cannot be waited for, and the others may be waiting for it. Each holds a
    // share of the queue; the last one frees it.
    for (std::thread& thread : threads_) isOwnThread ? thread.detach() : thread.join();
}

void TaskPool::execute(Claim claim) {
    Queue& queue = *queue_;
    if (!queue.enter()) {
        // The task may destroy the pool: nothing of it is touched afterwards.
        if (queue.options.whenFull == WhenFull::callerRuns) return claim();
        std::string const capacity = std::to_string(queue.options.queueCapacity);
        throw RejectedExecution{"task pool \"" + queue.options.name + "\" is full: " + capacity +
                                " tasks wait, and queueCapacity is " + capacity};
    }
    try {
        // Never inline, as `execute` would on one of the pool's own threads.
        boost::asio::post(queue.asio, [&queue, taken = std::move(claim)]() mutable {
            queue.leave();
            taken();
        });
    } catch (...) {
        queue.leave();
        throw;
    }
}

std::size_t TaskPool::queued() const noexcept {
    return queue_->waiting.load(std::memory_order_relaxed);
}

}  // namespace v1
}  // namespace timingwheel
