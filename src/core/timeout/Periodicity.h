#pragma once

#include "core/timeout/TickScale.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>
#include <timingwheel/TimerOptions.h>

#include <chrono>
#include <cstdint>
#include <optional>

namespace timingwheel::inline v1::detail {

/// The next run of a periodic timeout.
struct NextRun {
    Clock::TimePoint time;   ///< exactly
    Tick tick;               ///< the same, rounded up
    Clock::TimePoint ended;  ///< when the run before it returned
};

/// The function of a task that computes its times.
struct TimesOfTask {
    std::optional<Clock::TimePoint> (*timeAfter)(void* task, Clock::TimePoint time);
    void* task;

    /// The first one later than `time`; none if that was the last. Throws what the function throws,
    /// and std::invalid_argument if it returns one that is not later.
    std::optional<Clock::TimePoint> after(Clock::TimePoint time) const;
};

/// When a periodic timeout runs again.
struct Periodicity {
    enum class Rule : std::uint8_t { fixedRate, fixedDelay, timesOfTask };

    std::chrono::nanoseconds period{};
    Rule rule{};
    MissedTicks missed = MissedTicks::skip;
    /// The clock went far back while this was pending: it is taken out to have its time computed
    /// anew, not to run.
    bool isCorrected = false;
    /// The exact time of the current run. Each run is rounded to a tick anew, so nothing drifts.
    Clock::TimePoint current{};
    /// The tick that it was scheduled for. If the deadline differs, it was rescheduled.
    Tick scheduled{};

    // The run that follows one that was due at `deadline` and returned at `ended`. The thread that
    // has run the task calls these without the lock. They change nothing here.

    /// REQUIRES: the rule is not timesOfTask.
    NextRun next(TickScale const& scale, Tick deadline, Clock::TimePoint ended) const noexcept;
    /// None if the series is over. Throws what `times` throws. REQUIRES: the rule is timesOfTask.
    std::optional<NextRun> next(TickScale const& scale, Tick deadline, Clock::TimePoint ended,
                                TimesOfTask const& times, bool mayGoBack) const;

    /// How far a wheel's levels must reach when it is scheduled, so that no later run needs another
    /// level.
    Clock::TimePoint horizon(Clock::TimePoint now) const noexcept;
    /// Asks for a time computed anew, once it is taken out at `due`. Not if it was rescheduled.
    /// Returns true if it will be.
    bool correct(Tick deadline, Tick due) noexcept {
        isCorrected = rule == Rule::timesOfTask && scheduled == deadline;
        if (isCorrected) scheduled = due;
        return isCorrected;
    }
    /// True if what was taken out at `deadline` must not run.
    bool isLeftOut(Tick deadline, Clock::TimePoint now) const noexcept {
        return isCorrected && scheduled == deadline && now < current;
    }
    /// How far a clock must go back for that to be a correction.
    static constexpr std::chrono::hours kCorrection{3};

    /// Makes `run` the current one.
    void moveTo(NextRun const& run) noexcept {
        current = run.time;
        scheduled = run.tick;
        isCorrected = false;
    }

private:
    Clock::TimePoint timeOfRun(TickScale const& scale, Tick deadline) const noexcept;
    Clock::TimePoint timeOfNext(TickScale const& scale, Tick deadline,
                                Clock::TimePoint ended) const noexcept;
};

}  // namespace timingwheel::inline v1::detail
