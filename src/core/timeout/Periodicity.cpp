#include "core/timeout/Periodicity.h"

#include "core/base/OptionChecks.h"
#include "core/base/TimeArithmetic.h"

#include <algorithm>
#include <string>

namespace timingwheel::inline v1::detail {

namespace {

/// A run is missed if its tick has come. Its exact time may lie before that.
bool isMissed(TickScale const& scale, Clock::TimePoint time, Clock::TimePoint now) noexcept {
    return scale.deadlineToTick(time) <= scale.nowToTick(now);
}

}  // namespace

std::optional<Clock::TimePoint> TimesOfTask::after(Clock::TimePoint time) const {
    std::optional<Clock::TimePoint> const later = timeAfter(task, time);
    if (later && *later <= time)
        refuseOption("the time that timeAfter returned",
                     std::to_string(later->time_since_epoch().count()) + " ns",
                     "later than the one it was given, " +
                         std::to_string(time.time_since_epoch().count()) + " ns");
    return later;
}

NextRun Periodicity::next(TickScale const& scale, Tick deadline,
                          Clock::TimePoint ended) const noexcept {
    Clock::TimePoint const time = timeOfNext(scale, deadline, ended);
    return {time, scale.deadlineToTick(time), ended};
}

/// The first call counts from the time that the run had, so nothing drifts.
std::optional<NextRun> Periodicity::next(TickScale const& scale, Tick deadline,
                                         Clock::TimePoint ended, TimesOfTask const& times,
                                         bool mayGoBack) const {
    Clock::TimePoint const run = timeOfRun(scale, deadline);
    bool const isCorrection = mayGoBack && (isCorrected || timeSince(ended, run) > kCorrection);
    std::optional<Clock::TimePoint> time = times.after(isCorrection ? ended : run);
    if (time && missed == MissedTicks::skip && isMissed(scale, *time, ended))
        time = times.after(ended);
    if (!time) return std::nullopt;
    return NextRun{*time, scale.deadlineToTick(*time), ended};
}

/// A reschedule moves all later runs.
Clock::TimePoint Periodicity::timeOfRun(TickScale const& scale, Tick deadline) const noexcept {
    return scheduled == deadline ? current : scale.timeOf(deadline);
}

Clock::TimePoint Periodicity::timeOfNext(TickScale const& scale, Tick deadline,
                                         Clock::TimePoint ended) const noexcept {
    if (rule == Rule::fixedDelay) return timeAfter(ended, period);
    Clock::TimePoint const following = timeAfter(timeOfRun(scale, deadline), period);
    if (!isMissed(scale, following, ended) || missed == MissedTicks::catchUp) return following;
    if (missed == MissedTicks::shift) return timeAfter(ended, period);
    return timeAfter(ended, period - restOfPeriods(following, ended, period));
}

/// If the clock is at the end of a slot of the coarsest level, the levels reach up to one such slot
/// less far. That is at most half of their range, so twice the longest gap between two runs is
/// enough.
Clock::TimePoint Periodicity::horizon(Clock::TimePoint now) const noexcept {
    Clock::TimePoint const first = std::max(current, now);
    return timeAfter(timeAfter(first, period), period);
}

}  // namespace timingwheel::inline v1::detail
