#include "components/calendar/LocalSearch.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace timingwheel::inline v1::calendar {

namespace {

std::uint64_t bitOf(unsigned value) { return std::uint64_t{1} << value; }

/// The lowest value of the set that is at least `from`, or -1.
int lowest(std::uint64_t set, int from) {
    set &= from > 63 ? 0 : ~std::uint64_t{0} << from;
    return set == 0 ? -1 : std::countr_zero(set);
}

LocalSeconds startOf(int year, unsigned month, unsigned day) {
    using namespace std::chrono;
    sys_days const days{std::chrono::year{year} / static_cast<int>(month) / static_cast<int>(day)};
    return days.time_since_epoch().count() * kDay;
}

bool isWorkday(unsigned weekday) { return weekday != 0 && weekday != 6; }

/// Saturday goes back and Sunday forward, but never into another month.
unsigned nearestWorkday(unsigned day, unsigned length, unsigned weekday) {
    if (weekday == 6) {
        return day == 1 ? 3 : day - 1;
    }
    if (weekday == 0) {
        return day == length ? day - 2 : day + 1;
    }
    return day;
}

bool hasYear(CalendarFields const& fields, int year) {
    return fields.years.empty() ||
           std::any_of(fields.years.begin(), fields.years.end(), [year](YearRange const& range) {
               return year >= range.first && year <= range.last &&
                      (year - range.first) % range.step == 0;
           });
}

/// The first matching second of a day that is at least `from`, or -1.
LocalSeconds nextOfDay(CalendarFields const& fields, LocalSeconds from) {
    int const hour = static_cast<int>(from / 3600);
    int const minute = static_cast<int>(from / 60 % 60);
    int const firstSecond = lowest(fields.seconds, 0);
    int const firstMinute = lowest(fields.minutes, 0);
    if (lowest(fields.hours, hour) == hour) {
        if (lowest(fields.minutes, minute) == minute) {
            int const second = lowest(fields.seconds, static_cast<int>(from % 60));
            if (second >= 0) {
                return hour * 3600 + minute * 60 + second;
            }
        }
        int const later = lowest(fields.minutes, minute + 1);
        if (later >= 0) {
            return hour * 3600 + later * 60 + firstSecond;
        }
    }
    int const later = lowest(fields.hours, hour + 1);
    return later < 0 ? -1 : later * 3600 + firstMinute * 60 + firstSecond;
}

}  // namespace

std::uint64_t daysOf(CalendarFields const& fields, int year, unsigned month) {
    using namespace std::chrono;
    auto const of = std::chrono::year{year} / static_cast<int>(month);
    auto const length = static_cast<unsigned>((of / last).day());
    unsigned const first = weekday{sys_days{of / 1}}.c_encoding();

    std::uint64_t byDay = fields.days;
    std::uint64_t byWeekday = 0;
    for (unsigned day = 1; day <= length; ++day) {
        unsigned const weekday = (first + day - 1) % 7;
        if ((fields.daysFromEnd & bitOf(length - day)) != 0) {
            byDay |= bitOf(day);
        }
        if ((fields.nearestWorkdays & bitOf(day)) != 0) {
            byDay |= bitOf(nearestWorkday(day, length, weekday));
        }
        if ((fields.weekdays & bitOf(weekday)) != 0 ||
            (fields.nthWeekdays & bitOf((day - 1) / 7 * 7 + weekday)) != 0 ||
            (day + 7 > length && (fields.lastWeekdays & bitOf(weekday)) != 0)) {
            byWeekday |= bitOf(day);
        }
    }
    if (fields.lastWorkday) {
        unsigned day = length;
        while (!isWorkday((first + day - 1) % 7)) {
            --day;
        }
        byDay |= bitOf(day);
    }
    std::uint64_t const inMonth = bitOf(length + 1) - 2;
    return inMonth & (fields.eitherDay ? byDay | byWeekday : byDay & byWeekday);
}

std::optional<LocalSeconds> nextLocal(CalendarFields const& fields, LocalSeconds from,
                                      int lastYear) {
    using namespace std::chrono;
    from = std::max(from, startOf(kFirstYear, 1, 1));
    if (from >= startOf(lastYear, 12, 31) + kDay) {
        return {};
    }
    LocalSeconds const today = floor<days>(seconds{from}).count();
    year_month_day const date{sys_days{days{static_cast<int>(today)}}};
    int year = static_cast<int>(date.year());
    int month = static_cast<int>(static_cast<unsigned>(date.month()));
    int day = static_cast<int>(static_cast<unsigned>(date.day()));
    LocalSeconds const ofToday = nextOfDay(fields, from - today * kDay);
    if (ofToday >= 0 && hasYear(fields, year) && lowest(fields.months, month) == month &&
        lowest(daysOf(fields, year, static_cast<unsigned>(month)), day) == day) {
        return today * kDay + ofToday;
    }
    ++day;
    for (; year <= lastYear; ++year, month = 1, day = 1) {
        if (!hasYear(fields, year)) {
            continue;
        }
        for (int m = lowest(fields.months, month); m >= 0; m = lowest(fields.months, m + 1)) {
            int const found =
                lowest(daysOf(fields, year, static_cast<unsigned>(m)), m == month ? day : 1);
            if (found >= 0) {
                return startOf(year, static_cast<unsigned>(m), static_cast<unsigned>(found)) +
                       nextOfDay(fields, 0);
            }
        }
    }
    return {};
}

bool everComes(CalendarFields const& fields) {
    if (!fields.years.empty()) {
        return nextLocal(fields, startOf(kFirstYear, 1, 1)).has_value();
    }
    return nextLocal(fields, startOf(2000, 1, 1), 2399).has_value();
}

}  // namespace timingwheel::inline v1::calendar
