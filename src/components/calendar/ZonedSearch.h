#pragma once

#include "components/calendar/CalendarFields.h"

#include <timingwheel/calendar/CalendarPolicy.h>
#include <timingwheel/calendar/TimeZone.h>

#include <chrono>
#include <optional>

namespace timingwheel::inline v1::calendar {

/// The first instant after `after` at which the zone's clock shows a time that matches.
std::optional<std::chrono::sys_seconds> nextInZone(CalendarFields const& fields,
                                                   std::chrono::sys_seconds after,
                                                   TimeZone const& zone, CalendarPolicy policy);

}  // namespace timingwheel::inline v1::calendar
