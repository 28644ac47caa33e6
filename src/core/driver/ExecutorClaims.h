#pragma once

#include "core/driver/TimeoutKeeper.h"
#include "core/driver/run/RunFrame.h"
#include "core/driver/run/TaskSubject.h"
#include "core/timeout/TimeoutWord.h"

#include <timingwheel/detail/TimeoutEntry.h>

#include <exception>
#include <optional>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Gives claims to the executor, and runs or drops them. A claim runs one of its keeper's queued
/// tasks, or dies unrun. If fewer claims than queued tasks are left then, the newest task is
/// rejected.
///
/// Thread safety  any number of threads, without the lock except dispatch()
class TimeoutKeeper::ExecutorClaims {
public:
    /// Queues an entry in the given state, and gives the executor a claim for it. Releases the lock
    /// meanwhile.
    static void dispatch(TimeoutKeeper& keeper, Section& section, TimeoutEntry& entry,
                         TimeoutState state);

    // What a Claim does.

    static void copy(TimeoutKeeper& keeper) noexcept;
    static void run(TimeoutKeeper& keeper) noexcept;
    static void drop(TimeoutKeeper& keeper) noexcept;

private:
    class Submission;

    static void submit(TimeoutKeeper& keeper);
    static std::optional<TaskSubject> rejectSurplus(TimeoutKeeper& keeper,
                                                    RunFrame& frame) noexcept;
    static void endRejected(TimeoutKeeper& keeper, RunFrame& frame, TaskSubject const& subject,
                            std::exception_ptr exception) noexcept;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
