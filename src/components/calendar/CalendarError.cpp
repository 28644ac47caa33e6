#include <timingwheel/calendar/CalendarError.h>

namespace timingwheel::inline v1::calendar {

CalendarError::CalendarError(std::string const& reason, std::string_view expression,
                             std::size_t position)
    : std::invalid_argument{reason + "\n  " + std::string{expression} + "\n  " +
                            std::string(position, ' ') + "^"},
      position_{position} {}

}  // namespace timingwheel::inline v1::calendar
