#pragma once

#include <timingwheel/calendar/detail/platform/export.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace timingwheel::inline v1::calendar {

/// An expression that cannot be understood, or that never comes.
///
/// what() has three lines: the reason, the expression, and a caret below the place.
class TIMINGWHEEL_CALENDAR_API CalendarError : public std::invalid_argument {
public:
    CalendarError(std::string const& reason, std::string_view expression, std::size_t position);

    /// The index of the character at fault; the expression's length if something is missing.
    [[nodiscard]] std::size_t position() const noexcept { return position_; }

private:
    std::size_t position_;
};

}  // namespace timingwheel::inline v1::calendar
