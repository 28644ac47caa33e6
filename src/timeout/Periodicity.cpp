#include "timeout/Periodicity.h"

#include "base/TimeArithmetic.h"

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
    // A reschedule moves the whole raster.
    Clock::TimePoint const latest = scheduled == deadline ? current : scale.timeOf(deadline);
    Clock::TimePoint const following = timeAfter(latest, period);
    // Missed is a run whose tick has come, not one whose exact time lies just before it.
    bool const isMissed = scale.deadlineToTick(following) <= scale.nowToTick(ended);
    if (!isMissed || missed == MissedTicks::catchUp) return following;
    if (missed == MissedTicks::shift) return timeAfter(ended, period);
    return timeAfter(ended, period - restOfPeriods(following, ended, period));
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
