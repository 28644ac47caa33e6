#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/calendar/CalendarExpression.h>
#include <timingwheel/calendar/CalendarPolicy.h>
#include <timingwheel/calendar/TimeZone.h>
#include <timingwheel/calendar/detail/platform/export.h>

#include <optional>

namespace timingwheel::inline v1::calendar {

/// The times of an expression in a zone, as times of `Clock::wall()`: a function for
/// `WheelTimer::scheduleAtTimes`.
///
/// Thread safety  may be used and copied by any number of threads
class TIMINGWHEEL_CALENDAR_API CalendarTimes {
public:
    explicit CalendarTimes(CalendarExpression expression, TimeZone zone = {},
                           CalendarPolicy policy = {});

    /// The first time strictly later than `time`; empty if there is none before the year 2262.
    [[nodiscard]] std::optional<Clock::TimePoint> operator()(Clock::TimePoint time) const;

private:
    CalendarExpression expression_;
    TimeZone zone_;
    CalendarPolicy policy_;
};

}  // namespace timingwheel::inline v1::calendar
