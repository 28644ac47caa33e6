#pragma once

#include <timingwheel/calendar/detail/platform/export.h>

#include <chrono>
#include <string>
#include <string_view>

namespace timingwheel {
inline namespace v1 {
namespace calendar {

/// A time zone of the IANA database, or UTC.
///
/// The zones come from the standard library where it has them, else from Howard Hinnant's date.
/// Date with the system's database knows no change of the clocks after 2037.
///
/// Thread safety  may be used and copied by any number of threads
/// Lifetime       the database is loaded by the first zone but UTC, and stays
/// Errors         an unknown name throws std::invalid_argument, which names it
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
    void const* zone_ = nullptr;  ///< null for UTC; else the database's, which stays
};

}  // namespace calendar
}  // namespace v1
}  // namespace timingwheel
