#include <timingwheel/calendar/TimeZone.h>

#include <stdexcept>

#ifdef TIMINGWHEEL_CALENDAR_WITH_DATE
#    include <date/tz.h>
#endif

namespace timingwheel {
inline namespace v1 {
namespace calendar {

namespace {

#ifdef TIMINGWHEEL_CALENDAR_WITH_DATE
namespace zones = date;
#else
namespace zones = std::chrono;
#endif

}  // namespace

TimeZone::TimeZone(std::string_view name) : name_{name} {
    if (name == "UTC") {
        return;
    }
    try {
        zone_ = zones::locate_zone(name);
    } catch (std::runtime_error const& error) {
        throw std::invalid_argument{"unknown time zone \"" + name_ + "\": " + error.what()};
    }
}

TimeZone::Span TimeZone::spanAt(std::chrono::sys_seconds instant) const {
    if (zone_ == nullptr) {
        return {std::chrono::sys_seconds::min(), std::chrono::sys_seconds::max(),
                std::chrono::seconds{0}};
    }
    auto const info = static_cast<zones::time_zone const*>(zone_)->get_info(instant);
    return {info.begin, info.end, info.offset};
}

}  // namespace calendar
}  // namespace v1
}  // namespace timingwheel
