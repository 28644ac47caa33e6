#include "components/calendar/Parser.h"
#include "components/calendar/ZonedSearch.h"

#include <timingwheel/calendar/CalendarExpression.h>

#include <utility>

namespace timingwheel::inline v1::calendar {

CalendarExpression::CalendarExpression(std::shared_ptr<CalendarFields const> fields,
                                       std::optional<TimeZone> zone)
    : fields_{std::move(fields)}, zone_{std::move(zone)} {}

CalendarExpression CalendarExpression::cron(std::string_view text) {
    return CalendarExpression{std::make_shared<CalendarFields const>(parseCron(text)), {}};
}

CalendarExpression CalendarExpression::onCalendar(std::string_view text) {
    Word zone{};
    auto fields = std::make_shared<CalendarFields const>(parseOnCalendar(text, zone));
    if (zone.text.empty()) {
        return CalendarExpression{std::move(fields), {}};
    }
    try {
        return CalendarExpression{std::move(fields), TimeZone{zone.text}};
    } catch (std::invalid_argument const& error) {
        throw CalendarError{error.what(), text, zone.position};
    }
}

std::optional<CalendarExpression::Instant> CalendarExpression::next(Instant after,
                                                                    TimeZone const& zone,
                                                                    CalendarPolicy policy) const {
    return nextInZone(*fields_, after, zone_ ? *zone_ : zone, policy);
}

std::vector<CalendarExpression::Instant> CalendarExpression::nextTimes(
    std::size_t count, Instant after, TimeZone const& zone, CalendarPolicy policy) const {
    std::vector<Instant> times;
    while (times.size() < count) {
        auto const found = next(after, zone, policy);
        if (!found) {
            break;
        }
        after = *found;
        times.push_back(after);
    }
    return times;
}

bool CalendarExpression::runsByElapsedTime() const noexcept { return fields_->byElapsedTime; }

}  // namespace timingwheel::inline v1::calendar
