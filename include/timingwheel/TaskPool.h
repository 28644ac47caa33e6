#pragma once

#include <timingwheel/Executor.h>
#include <timingwheel/detail/platform/export.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace timingwheel::inline v1 {

/// What a TaskPool does with a task that finds its queue full.
enum class WhenFull : std::uint8_t {
    callerRuns,  ///< the thread that brings it runs it: the timer's driver, which falls behind
    reject,      ///< refuses it: the timer's error handler receives a RejectedExecution
};

/// All are checked by the constructor, which throws std::invalid_argument with the option's name,
/// its value and the bound.
struct TaskPoolOptions {
    /// At most 1024; 0: one for each core.
    std::size_t threads = 0;
    /// How many tasks may wait, not counting those that run: at least 1. A task also waits for the
    /// moment that an idle thread needs to take it.
    std::size_t queueCapacity = 8'192;
    WhenFull whenFull = WhenFull::callerRuns;
    /// For error messages, and the threads' name: at most 15 bytes.
    std::string name = "timer-task";
};

/// A pool of threads for the tasks of timers, with a bounded queue.
///
///     timingwheel::TaskPool pool{{.threads = 4}};
///     timingwheel::SystemTimer timer{{.executor = pool}};
///
/// For tasks that block: inline on the driver each would hold up all that come after it. One pool
/// may serve many timers. Its threads take tasks in the order in which they were queued.
///
/// Memory         a pointer for each task that waits, in blocks that are allocated when needed
/// Thread safety  any number of threads. Once the destructor has begun, nobody may call execute():
///                stop all timers that use the pool first
/// Lifetime       outlives the timers it serves, or their stop()
/// Errors         std::system_error if a thread cannot be started: then there is no pool
class TIMINGWHEEL_API TaskPool {
public:
    static constexpr std::size_t kMaxThreads = 1'024;

    explicit TaskPool(TaskPoolOptions options = {});
    /// Waits until all tasks have run and the threads have ended. From inside a task of this pool
    /// it waits for nothing: what is queued still runs, and the threads end by themselves.
    ~TaskPool();
    TaskPool(TaskPool const&) = delete;
    TaskPool& operator=(TaskPool const&) = delete;

    /// For the timer: queues a task, or does what `whenFull` says. Throws RejectedExecution or
    /// std::bad_alloc; the task then counts as rejected.
    void execute(Claim claim);

    /// Tasks that wait for a thread.
    std::size_t queued() const noexcept;
    std::size_t threads() const noexcept { return threads_.size(); }

private:
    class Queue;

    void startThreads(std::size_t count);
    void end() noexcept;

    // Shared with the threads, which may outlive the pool.
    std::shared_ptr<Queue> queue_;
    std::vector<std::thread> threads_;
};

}  // namespace timingwheel::inline v1
