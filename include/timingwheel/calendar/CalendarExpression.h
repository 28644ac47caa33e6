#pragma once

#include <timingwheel/calendar/CalendarError.h>
#include <timingwheel/calendar/CalendarPolicy.h>
#include <timingwheel/calendar/TimeZone.h>
#include <timingwheel/calendar/detail/platform/export.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace timingwheel::inline v1::calendar {

namespace detail {
struct CalendarFields;
}

/// A rule for recurring times: a cron expression, or what systemd calls OnCalendar.
///
/// next() jumps from field to field and never walks minute by minute. It does not schedule.
///
/// **Cron** has five fields: minute hour day month weekday. A sixth, seconds, may come first.
///   - `*`, lists `1,5`, ranges `1-5`, steps `*/5`, `1-30/5`; `7/10` is from 7 to the field's end
///   - names of months and weekdays in any case; weekdays 0 and 7 are Sunday; `?` for a day is `*`
///   - a range may wrap around: `FRI-MON` is four days, `22-2` five hours
///   - days: `L` the last, `L-3` three before it, `LW` the last from Monday to Friday, `15W` the
///     one from Monday to Friday nearest to the 15th in its month; `31W` skips months of 30 days
///   - weekdays: `5L` or `FRIL` the last Friday of the month, `MON#2` the second Monday
///   - `@yearly @annually @monthly @weekly @daily @midnight @hourly`
///   - If day and weekday both restrict, *either* matches, as in Vixie's cron. A field that begins
///     with `*` or `?` does not restrict; then both must match. (Cronos and Quartz differ.)
///
/// **OnCalendar** is `weekdays date time zone`, each part optional: `Mon..Fri *-*-* 09:00 UTC`.
///   - lists, ranges `..`, repetitions `0/15`; `~` instead of the last `-` counts days from the
///     month's end: `*-02~01` is its last day, `Mon *-05~07/1` the last Monday of May
///   - a repetition that comes once alone, `*:5/55`, is refused; so is `~19..3`
///   - weekday *and* date must match; a missing date is every day, a missing time 00:00:00
///   - years of two digits are 1970 to 2069; fractions of seconds are refused
///   - `minutely hourly daily weekly monthly quarterly semiannually yearly` (and `annually`)
///   - a zone at its end is used instead of the one given to next()
///
/// **Where the clocks change.** If the minute or the hour is an interval, the expression runs by
/// elapsed time: in both hours of an overlap, and a gap makes up for nothing. An interval is `*`
/// or `*/n` as the whole field, and `0/n` in OnCalendar. All others follow the CalendarPolicy.
///
/// Units          whole seconds; years 1 to 9999, but for the first day and the last
/// Complexity     next(): O(months + changes of the clock to the next time), at most 400 years; to
///                the year 9999 if all its times fall into gaps, and a policy skips those
/// Thread safety  may be used and copied by any number of threads
/// Errors         CalendarError from cron() and onCalendar(): not understood, or never comes
class TIMINGWHEEL_CALENDAR_API CalendarExpression {
public:
    using Instant = std::chrono::sys_seconds;

    [[nodiscard]] static CalendarExpression cron(std::string_view text);
    [[nodiscard]] static CalendarExpression onCalendar(std::string_view text);

    /// The first time strictly later than `after`; empty if there is none before 9999-12-31.
    [[nodiscard]] std::optional<Instant> next(Instant after, TimeZone const& zone = {},
                                              CalendarPolicy policy = {}) const;

    /// At most `count` times, each later than the one before.
    [[nodiscard]] std::vector<Instant> nextTimes(std::size_t count, Instant after,
                                                 TimeZone const& zone = {},
                                                 CalendarPolicy policy = {}) const;

    /// True if a change of the clocks does not matter to it: see above.
    [[nodiscard]] bool runsByElapsedTime() const noexcept;

    /// The zone at the end of an OnCalendar expression.
    [[nodiscard]] std::optional<TimeZone> const& zone() const noexcept { return zone_; }

private:
    explicit CalendarExpression(std::shared_ptr<detail::CalendarFields const> fields,
                                std::optional<TimeZone> zone);

    std::shared_ptr<detail::CalendarFields const> fields_;
    std::optional<TimeZone> zone_;
};

}  // namespace timingwheel::inline v1::calendar
