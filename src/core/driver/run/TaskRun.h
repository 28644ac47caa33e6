#pragma once

#include "core/driver/context/TimerContext.h"
#include "core/driver/run/RunMeter.h"
#include "core/driver/run/TaskSubject.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <chrono>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// Runs one task once: measures it, and catches and reports what it throws.
///
/// The constructor reads all it needs from the entry, which nobody else may take any more. A hook
/// is not touched once its task was entered, since the task may destroy it.
class TaskRun {
public:
    TaskRun(TimerContext& context, TimeoutEntry& entry) noexcept
        : context_{context}, entry_{&entry}, subject_{entry}, deadline_{entry.deadline()} {}

    /// Null for a hook.
    TimeoutNode* node() const noexcept { return subject_.node; }
    bool isPeriodic() const noexcept { return node() != nullptr && node()->isPeriodic(); }
    Tick deadline() const noexcept { return deadline_; }
    /// When the task returned. REQUIRES: isPeriodic().
    Clock::TimePoint ended() const noexcept { return ended_; }

    /// Runs the task. Outside every lock.
    void invoke(RunMeter& meter) noexcept {
        // A periodic one is measured alone: its end decides when its next run is.
        if (!meter.groups() || isPeriodic()) return invokeAlone(meter);
        meter.begin(deadline_);
        callTask();
    }
    /// The event of this run. REQUIRES: it is over, and was measured alone.
    TimerEvent event(std::uint32_t shard) const noexcept;

private:
    void callTask() noexcept;
    void invokeAlone(RunMeter& meter) noexcept;
    void measure() noexcept;

    TimerContext& context_;
    TimeoutEntry const* entry_;  // for the event, never followed
    TaskSubject subject_;
    Tick deadline_;
    Clock::TimePoint started_{};
    Clock::TimePoint ended_{};
    std::chrono::nanoseconds lateness_{};
    std::chrono::nanoseconds duration_{};
};

}  // namespace timingwheel::inline v1::detail
