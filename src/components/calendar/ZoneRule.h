#pragma once

#include "components/calendar/Parser.h"

#include <timingwheel/calendar/TimeZone.h>

#include <chrono>
#include <string_view>

namespace timingwheel::inline v1::calendar {

/// When a zone's clock changes in every year: `CET-1CEST,M3.5.0,M10.5.0/3`.
///
/// Such a line ends each file of the system's zones. It says what follows the changes that the file
/// lists (RFC 9636; the TZ variable of POSIX).
class ZoneRule {
public:
    /// Throws CalendarError.
    explicit ZoneRule(std::string_view text);

    /// The span that `instant` is in, if the clock has always followed this rule.
    [[nodiscard]] TimeZone::Span spanAt(std::chrono::sys_seconds instant) const;

private:
    /// A local time of each year.
    struct Change {
        enum class Kind { dayOfYear, dayButLeapDays, weekday };

        Kind kind;
        int month;  ///< 1 to 12
        int week;   ///< 1 to 5: 5 is the last
        int day;    ///< of the week, 0 to 6 from Sunday; or of the year
        std::chrono::seconds time;
    };

    static Change readChange(Reader& reader);
    static std::chrono::seconds timeIn(Change const& change, std::chrono::year year);

    std::chrono::seconds standard_{};
    std::chrono::seconds summer_{};  ///< where it is the same, the clock never changes
    Change toSummer_{};
    Change toStandard_{};
};

}  // namespace timingwheel::inline v1::calendar
