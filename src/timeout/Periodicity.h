#pragma once

#include "timeout/TickScale.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>
#include <timingwheel/TimerOptions.h>

#include <chrono>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// The next run of a periodic timeout.
struct NextRun {
    Clock::TimePoint time;   ///< exactly
    Tick tick;               ///< the same, rounded up
    Clock::TimePoint ended;  ///< when the run before it returned
};

/// When a periodic timeout runs again.
struct Periodicity {
    std::chrono::nanoseconds period{};
    bool fixedDelay = false;
    MissedTicks missed = MissedTicks::skip;
    /// The exact time of the current run. Each run is rounded to a tick anew, so nothing drifts.
    Clock::TimePoint current{};
    /// The tick that it was scheduled for. If the deadline differs, it was rescheduled.
    Tick scheduled{};

    /// The run that follows one that was due at `deadline` and returned at `ended`. Pure: the
    /// thread that has run the task calls it without the lock.
    NextRun next(TickScale const& scale, Tick deadline, Clock::TimePoint ended) const noexcept;
    /// How far a wheel's levels must reach when it is scheduled, so that no later run needs another
    /// level.
    Clock::TimePoint horizon(Clock::TimePoint now) const noexcept;
    /// Makes `run` the current one.
    void moveTo(NextRun const& run) noexcept {
        current = run.time;
        scheduled = run.tick;
    }

private:
    Clock::TimePoint timeOfNext(TickScale const& scale, Tick deadline,
                                Clock::TimePoint ended) const noexcept;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
