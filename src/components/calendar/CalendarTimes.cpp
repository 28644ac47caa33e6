#include "core/base/OptionChecks.h"

#include <timingwheel/calendar/CalendarTimes.h>
#include <timingwheel/calendar/scheduleByCalendar.h>

#include <chrono>
#include <utility>

namespace timingwheel::inline v1::calendar {

CalendarTimes::CalendarTimes(CalendarExpression expression, TimeZone zone, CalendarPolicy policy)
    : expression_{std::move(expression)}, zone_{std::move(zone)}, policy_{policy} {}

std::optional<Clock::TimePoint> CalendarTimes::operator()(Clock::TimePoint time) const {
    using std::chrono::seconds;
    std::chrono::sys_seconds const after{std::chrono::floor<seconds>(time.time_since_epoch())};
    auto const next = expression_.next(after, zone_, policy_);
    // The last day that a time point can express is in April of 2262.
    constexpr std::chrono::sys_days kEnd{std::chrono::year{2262} / 1 / 1};
    if (!next || *next >= kEnd) return std::nullopt;
    return Clock::wallTime(*next);
}

void requireWallClock(WheelTimer const& timer) {
    if (timer.clock().kind() != Clock::Kind::wall)
        timingwheel::detail::refuseOption("the clock of timer \"" + timer.name() + "\"",
                                          "not a wall clock", "of Clock::Kind::wall");
}

}  // namespace timingwheel::inline v1::calendar
