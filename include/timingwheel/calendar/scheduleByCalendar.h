#pragma once

#include <timingwheel/WheelTimer.h>
#include <timingwheel/calendar/CalendarExpression.h>
#include <timingwheel/calendar/CalendarPolicy.h>
#include <timingwheel/calendar/CalendarTimes.h>
#include <timingwheel/calendar/TimeZone.h>
#include <timingwheel/calendar/detail/platform/export.h>

#include <string_view>
#include <utility>

namespace timingwheel::inline v1 {
namespace calendar {

/// Throws std::invalid_argument that names the timer, unless its clock is of `Kind::wall`.
TIMINGWHEEL_CALENDAR_API void requireWallClock(WheelTimer const& timer);

}  // namespace calendar

/// Runs `task` at the times of a calendar, until the handle is cancelled:
///
///     timingwheel::SystemTimer timer{{.clock = timingwheel::Clock::wall()}};
///     scheduleByCalendar(timer, report, "0 9 * * MON", "Europe/Zurich");
///
/// The text is a cron expression. `CalendarExpression::onCalendar` reads systemd's.
///
/// - Never early. Late as any other timeout of the timer. No time comes twice, unless the clock is
///   corrected.
/// - A run whose time has passed while the one before it ran was missed: `MissedTicks::skip` leaves
///   it out, `catchUp` makes up for it.
/// - When the machine slept, or somebody sets the clock forward, one run comes at once, and the
///   others as above.
/// - After a step back of up to three hours nothing that has run runs again. A longer one is a
///   correction: the next run is computed from the new time, and what has run may run again.
///
/// The timer's clock is `Clock::wall()`, or a ManualClock of `Kind::wall`. The task may be what
/// `ifAlive` or `untilStopped` returns.
///
/// Complexity     as CalendarExpression::next, on the thread of a run and without a lock
/// Memory         as a periodic timeout, and about 100 bytes
/// Errors         CalendarError for a text that is not understood; std::invalid_argument for an
///                unknown zone, another clock, a calendar with no time before the year 2262, or
///                `MissedTicks::shift`; otherwise as `WheelTimer::newTimeout`. Then nothing has
///                changed
template <SchedulableTask Task>
Timeout scheduleByCalendar(WheelTimer& timer, Task task, calendar::CalendarExpression expression,
                           calendar::TimeZone zone = {}, calendar::CalendarPolicy policy = {},
                           MissedTicks missed = MissedTicks::skip) {
    calendar::requireWallClock(timer);
    return timer.scheduleAtTimes(
        std::move(task), calendar::CalendarTimes{std::move(expression), std::move(zone), policy},
        missed);
}
template <SchedulableTask Task>
Timeout scheduleByCalendar(WheelTimer& timer, Task task, std::string_view cron,
                           std::string_view zone = "UTC", calendar::CalendarPolicy policy = {},
                           MissedTicks missed = MissedTicks::skip) {
    return scheduleByCalendar(timer, std::move(task), calendar::CalendarExpression::cron(cron),
                              calendar::TimeZone{zone}, policy, missed);
}

}  // namespace timingwheel::inline v1
