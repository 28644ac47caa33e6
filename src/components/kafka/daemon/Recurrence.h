#pragma once

#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Record.h"

#include <timingwheel/calendar/CalendarExpression.h>
#include <timingwheel/calendar/CalendarPolicy.h>
#include <timingwheel/calendar/TimeZone.h>

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// When a timer is delivered again: at equal distances, or by the calendar.
///
/// A command says it by headers. The state and the timer keep them as they are; they are read anew
/// for each delivery. Knows no clock.
///
/// Units          milliseconds since 1970; times of the calendar are whole seconds
/// Complexity     as CalendarExpression::next, and the file of a zone
class Recurrence {
public:
    /// The headers of a rule that a record has, each once, with the last value. The one that is the
    /// rule itself comes first. None: the timer does not recur.
    static std::vector<Header> headersOf(Record const& record);

    /// Reads these headers, of which there is one at least, or says what is wrong with them.
    static std::variant<Recurrence, Refusal> read(std::vector<Header> const& headers,
                                                  std::int64_t maxEvery);

    /// The time of the delivery after that of `at`, which is made `now`: later than `at`, and later
    /// than `now` unless it catches up. With one time for both, the first after it.
    std::optional<std::int64_t> next(std::int64_t at, std::int64_t now) const;

private:
    struct ByCalendar {
        calendar::CalendarExpression expression;
        calendar::TimeZone zone;
        calendar::CalendarPolicy policy;
    };

    std::variant<std::int64_t, ByCalendar> rule_;  // every so many ms, or
    bool catchesUp_ = false;
};

}  // namespace timingwheel::inline v1::kafka
