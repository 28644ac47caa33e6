#pragma once

#include "core/driver/book/ExecutorQueue.h"
#include "core/driver/book/RunningTasks.h"
#include "core/driver/book/TimeoutCounters.h"
#include "core/driver/context/EventLog.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace timingwheel::inline v1::detail {

/// What the lock of any keeper guards: what is counted, what waits for an executor, what runs.
///
/// Thread safety  none: Hold::tasks() is the only way to it
struct TaskBook {
    explicit TaskBook(EventLog log) noexcept : events{std::move(log)} {}

    /// Nothing is pending, and nothing runs.
    bool isDrained() const noexcept { return pending == 0 && running.empty(); }

    /// Accepted, not entered, not cancelled. And what the driver has entered of a chunk, until it
    /// is through with that.
    std::size_t pending = 0;
    std::int64_t madeShares = 0;  ///< of DroppedShares
    TimeoutCounters counters;
    ExecutorQueue queue;
    RunningTasks running;
    EventLog events;
};

}  // namespace timingwheel::inline v1::detail
