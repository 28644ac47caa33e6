#pragma once

#include <cstdint>
#include <vector>

namespace timingwheel::inline v1::calendar {

/// A year, or every step-th one from first to last.
struct YearRange {
    int first;
    int last;
    int step;
};

namespace detail {

/// What an expression says, as bits: bit v is set if the value v matches.
struct CalendarFields {
    std::uint64_t seconds = 1;
    std::uint64_t minutes = 0;
    std::uint64_t hours = 0;
    std::uint64_t months = 0;

    std::uint64_t days = 0;             ///< 1 to 31
    std::uint64_t daysFromEnd = 0;      ///< bit 0 is the month's last day
    std::uint64_t nearestWorkdays = 0;  ///< `15W`
    bool lastWorkday = false;           ///< `LW`

    std::uint64_t weekdays = 0;      ///< 0 to 6, Sunday first
    std::uint64_t lastWeekdays = 0;  ///< `5L`
    std::uint64_t nthWeekdays = 0;   ///< `MON#2`: bit 7 * (n - 1) + weekday

    bool eitherDay = false;  ///< day or weekday, instead of both
    bool byElapsedTime = false;
    std::vector<YearRange> years;  ///< empty: all
};

}  // namespace detail

using detail::CalendarFields;

}  // namespace timingwheel::inline v1::calendar
