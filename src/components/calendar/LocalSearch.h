#pragma once

#include "components/calendar/CalendarFields.h"

#include <cstdint>
#include <optional>

namespace timingwheel::inline v1::calendar {

constexpr int kFirstYear = 1;
constexpr int kLastYear = 9999;

/// Seconds of a clock without a zone, since its 1970-01-01 00:00:00.
using LocalSeconds = std::int64_t;
constexpr LocalSeconds kDay = 86400;

/// The days of a month that match, as bits 1 to 31.
std::uint64_t daysOf(CalendarFields const& fields, int year, unsigned month);

/// The first local time that matches, `from` or later; empty after `lastYear`.
std::optional<LocalSeconds> nextLocal(CalendarFields const& fields, LocalSeconds from,
                                      int lastYear = kLastYear);

/// False for 31 February and its like. Gregorian years repeat after 400.
bool everComes(CalendarFields const& fields);

}  // namespace timingwheel::inline v1::calendar
