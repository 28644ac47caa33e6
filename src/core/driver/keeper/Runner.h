#pragma once

#include "core/driver/keeper/Keeper.h"
#include "core/driver/run/RunFrame.h"
#include "core/driver/run/TaskRun.h"
#include "core/timeout/Periodicity.h"

#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <optional>

namespace timingwheel::inline v1::detail {

/// Runs tasks that are due, and ends what they belong to. It has a hold of their keeper's lock, and
/// releases it while it calls the user's code.
///
/// A hook is not touched once its task was entered: it may destroy the hook.
class Runner {
public:
    Runner(Hold& hold, RunFrame& frame) noexcept : hold_{hold}, frame_{frame} {}

    /// Runs a task that runs once and no longer counts as pending, and ends it.
    void runOnce(TimeoutEntry& entry) noexcept;
    /// Runs those of the chunk's tasks that nobody takes back, without the lock, and ends what they
    /// belong to. The caller calls ShardBook::endChunk() and Hold::endRun(frame).
    void runChunk(Chunk& chunk) noexcept;
    /// Runs a periodic task and returns its next run: none if the series is over, or was cancelled
    /// meanwhile. The run is not over before the caller has dealt with that, and calls
    /// Hold::endRun(frame).
    std::optional<NextRun> runPeriodic(TimeoutNode& node) noexcept;
    /// Ends a periodic timeout.
    void endPeriodic(TimeoutNode& node) noexcept;

    /// Gives stop() an entry that was taken out. Returns false if a cancel() was faster.
    static bool returnTo(StoppedTimeouts& stopped, Hold& hold, TimeoutEntry& entry) noexcept;

private:
    void begin(TimeoutEntry& entry) noexcept;
    std::optional<NextRun> nextRun(TimeoutNode& node, Tick deadline,
                                   Clock::TimePoint ended) noexcept;
    void invoke(TaskRun& run) noexcept;
    void endOnce(TaskRun const& run) noexcept;

    Hold& hold_;
    RunFrame& frame_;
};

}  // namespace timingwheel::inline v1::detail
