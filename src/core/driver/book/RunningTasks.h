#pragma once

#include "core/driver/book/Chunk.h"

#include <timingwheel/detail/TimeoutEntry.h>

#include <cstdint>

namespace timingwheel::inline v1::detail {

/// That a thread runs the task of an entry. It lies on the stack of that thread, in its RunFrame.
///
/// To wait for a run is to wait for this: an entry is not touched once its task was entered.
struct RunningTask {
    explicit RunningTask(void const* runner) noexcept : thread{runner} {}

    /// Under the keeper's lock, or on `thread`.
    bool runs(TimeoutEntry const& which) const noexcept {
        return &which == (chunk == nullptr ? entry : chunk->current());
    }

    TimeoutEntry* entry = nullptr;  ///< what runs; null if the hook died in its own task
    Chunk* chunk = nullptr;         ///< instead: what runs is the current one of it
    bool givesUp = false;           ///< tells the objects of hooks that the timer gave them up
    void const* const thread;       ///< which thread it is: compared, never followed

private:
    friend class RunningTasks;

    RunningTask* next_ = nullptr;
    std::uint64_t run_ = 0;  // its number
};

/// What runs in one keeper: one for each thread that runs a task, so a search is short.
///
/// Thread safety  none: guarded by the keeper's lock
class RunningTasks {
public:
    bool empty() const noexcept { return first_ == nullptr; }

    /// Begins a run of `task.entry`.
    void add(RunningTask& task) noexcept {
        task.run_ = ++runs_;
        task.next_ = first_;
        first_ = &task;
    }

    /// Ends the run.
    void remove(RunningTask& task) noexcept {
        RunningTask** link = &first_;
        while (*link != &task) link = &(*link)->next_;
        *link = task.next_;
        task.entry = nullptr;
        task.chunk = nullptr;
    }

    /// How many runs have begun so far: the number of the last one.
    std::uint64_t runs() const noexcept { return runs_; }

    /// True while another thread than `thread` runs `entry`, in a run that began no later than
    /// number `upTo`.
    bool runsElsewhere(TimeoutEntry const& entry, std::uint64_t upTo,
                       void const* thread) const noexcept {
        return any([&](RunningTask const& task) {
            return task.runs(entry) && task.run_ <= upTo && task.thread != thread;
        });
    }

    /// The same for any that gives up.
    bool givesUpElsewhere(std::uint64_t upTo, void const* thread) const noexcept {
        return any([&](RunningTask const& task) {
            return task.givesUp && task.run_ <= upTo && task.thread != thread;
        });
    }

    bool runs(TimeoutEntry const& entry) const noexcept {
        return any([&](RunningTask const& task) { return task.runs(entry); });
    }

    /// Calls `visit(entry)` for what runs, except what is in a chunk: the driver may be ending it.
    template <class Visit>
    void forEach(Visit&& visit) const {
        for (RunningTask const* task = first_; task != nullptr; task = task->next_)
            if (task->entry != nullptr) visit(*task->entry);
    }

    /// The entry's object dies inside its own run. Its address may soon belong to another.
    void forget(TimeoutEntry const& entry) noexcept {
        for (RunningTask* task = first_; task != nullptr; task = task->next_) {
            if (!task->runs(entry)) continue;
            if (task->chunk != nullptr)
                task->chunk->forgetCurrent();
            else
                task->entry = nullptr;
        }
    }

    /// This thread is about to wait for a run to end: a thread that ends one must look.
    void await() noexcept {
        for (RunningTask* task = first_; task != nullptr; task = task->next_)
            if (task->chunk != nullptr) task->chunk->await();
    }

    bool hasOfOtherThread(void const* thread) const noexcept {
        return any([&](RunningTask const& task) { return task.thread != thread; });
    }

private:
    template <class Predicate>
    bool any(Predicate&& predicate) const noexcept {
        RunningTask const* task = first_;
        while (task != nullptr && !predicate(*task)) task = task->next_;
        return task != nullptr;
    }

    RunningTask* first_ = nullptr;
    std::uint64_t runs_ = 0;
};

}  // namespace timingwheel::inline v1::detail
