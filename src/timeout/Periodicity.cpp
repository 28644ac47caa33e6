#include "timeout/Periodicity.h"

#include "base/TimeArithmetic.h"

#include <algorithm>

namespace timingwheel {
inline namespace v1 {
namespace detail {

NextRun Periodicity::next(TickScale const& scale, Tick deadline,
                          Clock::TimePoint ended) const noexcept {
    Clock::TimePoint const time = timeOfNext(scale, deadline, ended);
    return {time, scale.deadlineToTick(time), ended};
}

Clock::TimePoint Periodicity::timeOfNext(TickScale const& scale, Tick deadline,
                                         Clock::TimePoint ended) const noexcept {
    if (fixedDelay) return timeAfter(ended, period);
    // A reschedule moves all later runs.
    Clock::TimePoint const latest = scheduled == deadline ? current : scale.timeOf(deadline);
    Clock::TimePoint const following = timeAfter(latest, period);
    // A run is missed if its tick has come. Its exact time may lie before that.
    bool const isMissed = scale.deadlineToTick(following) <= scale.nowToTick(ended);
    if (!isMissed || missed == MissedTicks::catchUp) return following;
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

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
