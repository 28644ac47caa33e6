#pragma once

#include "core/driver/keeper/Keeper.h"
#include "core/driver/run/RunFrame.h"
#include "core/driver/run/TaskSubject.h"
#include "core/timeout/TimeoutWord.h"

#include <timingwheel/detail/TimeoutEntry.h>

#include <exception>
#include <optional>

namespace timingwheel::inline v1::detail {

/// Gives claims to the executor, and runs or drops them. A claim runs one of its keeper's queued
/// tasks, or dies unrun. If fewer claims than queued tasks are left then, the newest task is
/// rejected.
///
/// Thread safety  any number of threads, without the lock except dispatch()
class ExecutorClaims {
public:
    /// Queues an entry in the given state, and gives the executor a claim for it. Releases the lock
    /// meanwhile.
    static void dispatch(Hold& hold, TimeoutEntry& entry, TimeoutState state);

    // What a Claim does.

    static void copy(Keeper& keeper) noexcept;
    static void run(Keeper& keeper) noexcept;
    static void drop(Keeper& keeper) noexcept;

private:
    class Submission;

    static void submit(Keeper& keeper);
    static std::optional<TaskSubject> rejectSurplus(Keeper& keeper, RunFrame& frame) noexcept;
    static void endRejected(Keeper& keeper, RunFrame& frame, TaskSubject const& subject,
                            std::exception_ptr exception) noexcept;
};

}  // namespace timingwheel::inline v1::detail
