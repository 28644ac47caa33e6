#include "components/calendar/ZoneRule.h"

#include <timingwheel/calendar/TimeZone.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <system_error>

#ifdef TIMINGWHEEL_CALENDAR_WITH_DATE
#    include <array>
#    include <date/tz.h>
#    include <fstream>
#endif

namespace timingwheel::inline v1::calendar {

namespace {

#ifdef TIMINGWHEEL_CALENDAR_WITH_DATE
namespace zones = date;
#else
namespace zones = std::chrono;
#endif

#if defined(TIMINGWHEEL_CALENDAR_WITH_DATE) && USE_OS_TZDB
[[noreturn]] void failToOpen(std::string const& path) {
    throw std::system_error{errno, std::generic_category(), path};
}

/// The library date lists the zones once, and passes over folders that it cannot open: without a
/// descriptor at that moment the process would never have a zone. So it is seen to that there are
/// enough.
void listZones() {
    [[maybe_unused]] static bool const isDone = [] {
        std::array<std::ifstream, 8> reserve;  // folders are nested less deep
        for (std::ifstream& file : reserve) {
            file.open("/dev/null");
            if (!file) failToOpen("the time zones cannot be listed");
        }
        for (std::ifstream& file : reserve) file.close();
        return !zones::get_tzdb().zones.empty();
    }();
}

/// The library date reads the changes that a zone's file lists, but not the rule at its end.
ZoneRule ruleOf(std::string const& zone) {
    std::string const path = "/usr/share/zoneinfo/" + zone;
    std::ifstream file{path, std::ios::binary};
    if (!file && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) failToOpen(path);
    std::string lastLine;
    for (std::string line; std::getline(file, line);) {
        lastLine = line;
    }
    if (lastLine.empty()) {
        throw std::runtime_error{path + " cannot be read, or has no rule at its end"};
    }
    return ZoneRule{lastLine};
}
#else
void listZones() {}
std::optional<ZoneRule> ruleOf(std::string const&) { return {}; }
#endif

}  // namespace

/// What the database has of a zone, which stays, and the rule after its last change.
struct detail::ZoneData {
    zones::time_zone const* zone;
    std::optional<ZoneRule> rule;
};

TimeZone::TimeZone(std::string_view name) : name_{name} {
    if (name == "UTC") {
        return;
    }
    std::string const words = "unknown time zone \"" + name_.substr(0, name_.find('\0')) + "\"";
    if (name_.find('\0') != std::string::npos) {
        throw std::invalid_argument{words + " and a NUL byte"};
    }
    try {
        listZones();
        zones::time_zone const* const zone = zones::locate_zone(name);
        data_ = std::make_shared<detail::ZoneData const>(
            detail::ZoneData{zone, ruleOf(std::string{zone->name()})});
    } catch (std::system_error const&) {
        throw;  // it is known, and can be read later
    } catch (std::exception const& error) {
        throw std::invalid_argument{words + ": " + error.what()};
    }
}

TimeZone::Span TimeZone::spanAt(std::chrono::sys_seconds instant) const {
    if (data_ == nullptr) {
        return {std::chrono::sys_seconds::min(), std::chrono::sys_seconds::max(),
                std::chrono::seconds{0}};
    }
    auto const info = data_->zone->get_info(instant);
    constexpr std::chrono::sys_days kEnd{std::chrono::year{9999} / 12 / 31};
    if (info.end < kEnd || !data_->rule) {
        return {info.begin, info.end, info.offset};
    }
    Span span = data_->rule->spanAt(instant);
    span.begin = std::max(span.begin, info.begin);
    return span;
}

}  // namespace timingwheel::inline v1::calendar
