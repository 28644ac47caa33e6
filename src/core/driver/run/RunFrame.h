#pragma once

#include "core/driver/book/RunningTasks.h"
#include "core/driver/run/RunMeter.h"

namespace timingwheel::inline v1::detail {

class TimerContext;

/// That a thread runs tasks of a timer, or waits to. It lies on the stack of that thread.
///
///   - While a task runs, it is linked into the books of the task's keeper.
///   - The frames of one thread form a chain, since a task may drive another timer.
///   - A frame keeps its timer in memory, since the task may destroy it.
class RunFrame : public RunningTask {
public:
    explicit RunFrame(TimerContext& context) noexcept;
    ~RunFrame();
    RunFrame(RunFrame const&) = delete;
    RunFrame& operator=(RunFrame const&) = delete;

    /// True if the calling thread runs tasks of this timer, or is its driver.
    static bool isInside(TimerContext const& context) noexcept;

    /// True if the calling thread is inside a run of `entry`.
    static bool isRunningHere(TimeoutEntry const& entry) noexcept;

    /// The calling thread: equals RunningTask::thread of the tasks that it runs.
    static void const* thisThread() noexcept;

    RunMeter meter;  ///< of the runs in this frame

private:
    TimerContext& context_;
    RunFrame* outer_;
};

}  // namespace timingwheel::inline v1::detail
