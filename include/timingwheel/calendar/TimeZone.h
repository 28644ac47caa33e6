#pragma once

#include <timingwheel/calendar/detail/platform/export.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace timingwheel::inline v1::calendar {

namespace detail {
struct ZoneData;
}

/// A time zone of the IANA database, or UTC.
///
/// The zones come from the standard library where it has them, else from Howard Hinnant's date and
/// the system's database. After the last change that the database lists (often that of 2037), the
/// zone's rule goes on for every year.
///
/// Range          the years 1 to 9999
/// Thread safety  may be used and copied by any number of threads
/// Lifetime       the database is loaded by the first zone but UTC, and stays
/// Errors         an unknown name throws std::invalid_argument, which names it; so does a zone
///                whose file has no rule. std::system_error if no descriptor or memory is left to
///                read the file
class TIMINGWHEEL_CALENDAR_API TimeZone {
public:
    /// A time during which the offset from UTC stays the same: [begin, end).
    struct Span {
        std::chrono::sys_seconds begin;
        std::chrono::sys_seconds end;
        std::chrono::seconds offset;  ///< local time minus UTC
    };

    /// UTC.
    TimeZone() = default;
    explicit TimeZone(std::string_view name);

    [[nodiscard]] std::string const& name() const noexcept { return name_; }

    /// The span that `instant` is in. REQUIRES: `instant` lies in the years 1 to 9999.
    [[nodiscard]] Span spanAt(std::chrono::sys_seconds instant) const;

private:
    std::string name_ = "UTC";
    std::shared_ptr<detail::ZoneData const> data_;  ///< null for UTC
};

}  // namespace timingwheel::inline v1::calendar
