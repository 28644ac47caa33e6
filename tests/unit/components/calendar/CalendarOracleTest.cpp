// A slow and obvious oracle: it lists the local times that an expression names around a change of a
// zone's clocks, and looks each up in the zone.

#include "unit/components/calendar/LocalTimes.h"

#include <support/Effort.h>
#include <support/TestTimers.h>
#include <timingwheel/calendar/CalendarExpression.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace timingwheel::calendar;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using namespace timingwheel::test;

namespace {

constexpr std::int64_t kDay = 86400;

/// A day of the Gregorian calendar.
struct Day {
    explicit Day(sys_days at) : date{at}, weekday{std::chrono::weekday{at}.c_encoding()} {
        auto const end = date.year() / date.month() / std::chrono::last;
        length = static_cast<int>(static_cast<unsigned>(end.day()));
    }
    [[nodiscard]] int year() const { return static_cast<int>(date.year()); }
    [[nodiscard]] int month() const {
        return static_cast<int>(static_cast<unsigned>(date.month()));
    }
    [[nodiscard]] int day() const { return static_cast<int>(static_cast<unsigned>(date.day())); }
    [[nodiscard]] int weekdayAt(int other) const {
        return static_cast<int>((weekday + 70U + static_cast<unsigned>(other - day())) % 7);
    }
    [[nodiscard]] bool isWorkdayAt(int other) const {
        return weekdayAt(other) != 0 && weekdayAt(other) != 6;
    }

    std::chrono::year_month_day date;
    unsigned weekday;
    int length = 0;  ///< of its month
};

/// What a field is called, and what it names. `matches` is asked of days alone.
struct Field {
    std::string text;
    std::set<int> values;
    std::vector<std::function<bool(Day const&)>> matches;

    [[nodiscard]] bool has(int value, Day const& day) const {
        return values.count(value) != 0 ||
               std::any_of(matches.begin(), matches.end(),
                           [&day](auto const& match) { return match(day); });
    }
};

/// The numbers of a field: low to high. Of weekdays, 7 is 0.
struct Numbers {
    int low;
    int high;
    std::vector<std::string> names;  ///< of those from low

    [[nodiscard]] int size() const { return high - low + 1; }
};

std::vector<std::string> const kMonths{"JAN", "feb", "Mar", "APR", "may", "Jun",
                                       "JUL", "aug", "Sep", "OCT", "nov", "Dec"};
std::vector<std::string> const kWeekdays{"Sun", "MON", "tue", "Wed", "THU", "fri", "Sat"};

/// A random expression of either kind, and what it names. Mostly it names the given day.
class Random {
public:
    Random(std::mt19937& random, Day const& target)
        : random_{random}, target_{target}, isCron_{oneIn(2)} {
        seconds_ = oneIn(3) ? list({0, 59, {}}, below(60)) : Field{"0", {0}, {}};
        minutes_ = ofTime({0, 59, {}}, below(60));
        // The clocks mostly change early in the night.
        hours_ = ofTime({0, 23, {}}, oneIn(2) ? below(4) : below(24));
        // There is no end of them otherwise.
        if (seconds_.values.size() * minutes_.values.size() * hours_.values.size() > 1500)
            seconds_ = {"0", {0}, {}};
        months_ = oneIn(2) ? list({1, 12, isCron_ ? kMonths : none_}, target.month()) : any(1, 12);
        if (isCron_) {
            days_ = oneIn(2) ? list({1, 31, {}}, target.day(), &Random::cronsDay) : any(1, 31);
            weekdays_ = oneIn(2) ? list({0, 6, kWeekdays}, static_cast<int>(target.weekday),
                                        &Random::cronsWeekday)
                                 : any(0, 6);
            text_ = seconds_.text + " " + minutes_.text + " " + hours_.text + " " + days_.text +
                    " " + months_.text + " " + weekdays_.text;
        } else {
            drawOnCalendar();
        }
    }

    [[nodiscard]] std::string const& text() const { return text_; }
    /// Empty if it is refused, as what never comes is.
    [[nodiscard]] std::optional<CalendarExpression> parsed() const {
        try {
            return isCron_ ? CalendarExpression::cron(text_)
                           : CalendarExpression::onCalendar(text_);
        } catch (CalendarError const& error) {
            EXPECT_NE(std::string{error.what()}.find("this day never comes"), std::string::npos)
                << error.what();
            return {};
        }
    }
    [[nodiscard]] bool isInterval() const { return isIn(minutes_.text) || isIn(hours_.text); }

    /// The local times that it names on a day.
    [[nodiscard]] std::vector<std::int64_t> timesOf(sys_days at) const {
        Day const day{at};
        std::vector<std::int64_t> times;
        bool const isDay = days_.has(day.day(), day);
        bool const isWeekday = weekdays_.has(static_cast<int>(day.weekday), day);
        // Vixie's rule.
        bool const isEither = isCron_ && restricts(days_) && restricts(weekdays_);
        if (!months_.has(day.month(), day) || !(years_.text.empty() || years_.has(0, day)) ||
            !(isEither ? isDay || isWeekday : isDay && isWeekday))
            return times;
        for (int const hour : hours_.values)
            for (int const minute : minutes_.values)
                for (int const second : seconds_.values)
                    times.push_back(at.time_since_epoch().count() * kDay + hour * 3600 +
                                    minute * 60 + second);
        return times;
    }

private:
    using Special = bool (Random::*)(Field&);

    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    bool oneIn(int n) { return below(n) == 0; }
    int from(int low, int high) { return low + below(high - low + 1); }

    static bool restricts(Field const& field) {
        return field.text[0] != '*' && field.text[0] != '?';
    }
    [[nodiscard]] bool isIn(std::string const& text) const {
        return text.find(',') == std::string::npos &&
               (text[0] == '*' || (!isCron_ && text.substr(0, 2) == "0/"));
    }

    static Field any(int low, int high) {
        Field field{"*", {}, {}};
        for (int value = low; value <= high; ++value) field.values.insert(value);
        return field;
    }
    std::string write(Numbers const& numbers, int value) {
        if (!numbers.names.empty() && oneIn(2))
            return numbers.names[static_cast<std::size_t>(value - numbers.low)];
        return numbers.low == 0 && numbers.high == 6 && value == 0 && oneIn(2)
                   ? "7"
                   : std::to_string(value);
    }

    /// One to three items, of which the first mostly names `wanted`.
    Field list(Numbers const& numbers, int wanted, Special special = nullptr) {
        Field field;
        for (int items = oneIn(2) ? 1 : from(2, 3); items > 0; --items) {
            if (!field.text.empty()) field.text += ",";
            if (special == nullptr || oneIn(2) || !(this->*special)(field))
                addItem(field, numbers, oneIn(8) ? from(numbers.low, numbers.high) : wanted);
            wanted = from(numbers.low, numbers.high);
        }
        return field;
    }
    /// Of minutes or hours: an interval now and then.
    Field ofTime(Numbers const& numbers, int wanted) {
        if (!oneIn(5)) return list(numbers, wanted);
        int const step = from(1, numbers.size() / 2);
        Field field{oneIn(4) ? "*" : (isCron_ ? "*/" : "0/") + std::to_string(step), {}, {}};
        for (int value = 0; value <= numbers.high; value += field.text == "*" ? 1 : step)
            field.values.insert(value);
        return field;
    }
    void addItem(Field& field, Numbers const& numbers, int wanted) {
        bool const mayWrap = isCron_;
        int step = from(1, std::max(1, std::min(9, numbers.size() / 2)));
        int first = wanted;
        int count = 0;
        switch (below(5)) {
            case 0:
            case 1:
                field.text += write(numbers, wanted);
                break;
            case 2:  // to the field's end
                first = std::max(numbers.low, wanted - step * below(3));
                count = numbers.high - first;
                if (!mayWrap && step > count) return addSingle(field, numbers, wanted);
                field.text += write(numbers, first) + "/" + std::to_string(step);
                break;
            default: {  // a range, with a step or without
                int last = wanted + below(numbers.size());
                if (last > numbers.high) last = mayWrap ? last - numbers.size() : numbers.high;
                count = (last - first + numbers.size()) % numbers.size();
                field.text += write(numbers, first) + (isCron_ ? "-" : "..");
                field.text += isCron_ && last == 0 && numbers.high == 6 && first == 0
                                  ? std::string{"0"}
                                  : write(numbers, last);
                if (oneIn(2)) {
                    field.text += "/" + std::to_string(step);
                } else {
                    step = 1;
                }
            }
        }
        for (int i = 0; i <= count; i += step)
            field.values.insert(numbers.low + (first - numbers.low + i) % numbers.size());
    }
    void addSingle(Field& field, Numbers const& numbers, int wanted) {
        field.text += write(numbers, wanted);
        field.values.insert(wanted);
    }

    bool cronsDay(Field& field) {
        int const fromEnd = oneIn(4) ? from(1, 30) : target_.length - target_.day();
        int const near = std::clamp(target_.day() + from(-2, 2), 1, 31);
        switch (below(4)) {
            case 0:
                field.text += "L" + (fromEnd == 0 ? "" : "-" + std::to_string(fromEnd));
                if (fromEnd > 30) return false;
                field.matches.push_back(
                    [fromEnd](Day const& day) { return day.length - day.day() == fromEnd; });
                return true;
            case 1:
                field.text += "LW";
                field.matches.push_back([](Day const& day) {
                    int last = day.length;
                    while (!day.isWorkdayAt(last)) --last;
                    return day.day() == last;
                });
                return true;
            case 2:
                field.text += std::to_string(near) + "W";
                field.matches.push_back([near](Day const& day) { return isNearest(day, near); });
                return true;
            default:
                return false;
        }
    }
    /// True if the day is that one from Monday to Friday of its month that is nearest to `wanted`.
    static bool isNearest(Day const& day, int wanted) {
        if (wanted > day.length) return false;
        for (int const away : {0, -1, 1, -2, 2}) {
            int const candidate = wanted + away;
            if (candidate >= 1 && candidate <= day.length && day.isWorkdayAt(candidate))
                return day.day() == candidate;
        }
        return false;
    }
    bool cronsWeekday(Field& field) {
        int const name = oneIn(4) ? below(7) : static_cast<int>(target_.weekday);
        int const nth = oneIn(4) ? from(1, 5) : (target_.day() + 6) / 7;
        auto const isNamed = [name](Day const& day) {
            return static_cast<int>(day.weekday) == name;
        };
        field.text += write({0, 6, kWeekdays}, name);
        if (oneIn(2)) {
            field.text += "L";
            field.matches.push_back(
                [isNamed](Day const& day) { return isNamed(day) && day.day() > day.length - 7; });
        } else {
            field.text += "#" + std::to_string(nth);
            field.matches.push_back([isNamed, nth](Day const& day) {
                return isNamed(day) && day.day() > 7 * nth - 7 && day.day() <= 7 * nth;
            });
        }
        return true;
    }

    void drawOnCalendar() {
        weekdays_ = any(0, 6);
        if (oneIn(2)) {
            weekdays_ = {};
            int const first = static_cast<int>(target_.weekday);
            int const count = below(7);
            bool const isRange = oneIn(2);
            for (int i = 0; i <= (isRange ? count : 0); ++i)
                weekdays_.values.insert((first + i) % 7);
            text_ = kWeekdays[static_cast<std::size_t>(first)];
            if (isRange) text_ += ".." + kWeekdays[static_cast<std::size_t>((first + count) % 7)];
            if (oneIn(3)) {
                int const other = below(7);
                text_ += "," + kWeekdays[static_cast<std::size_t>(other)];
                weekdays_.values.insert(other);
            }
            text_ += " ";
        }
        drawYears();
        bool const isFromEnd = oneIn(2);
        days_ = any(1, 31);
        if (oneIn(2)) days_ = isFromEnd ? fromEnd() : list({1, 31, {}}, target_.day());
        text_ += (years_.text.empty() ? "*" : years_.text) + "-" + months_.text +
                 (isFromEnd ? "~" : "-") + days_.text + " " + hours_.text + ":" + minutes_.text +
                 ":" + seconds_.text;
    }
    /// `~`: values are counted from the month's end, whose last day is 1.
    Field fromEnd() {
        int const wanted = oneIn(4) ? from(1, 31) : target_.length - target_.day() + 1;
        int const step = from(1, 5);
        int const far = std::min(31, wanted + below(12));
        Field field{std::to_string(wanted), {}, {}};
        std::set<int> named{wanted};
        if (oneIn(3) && step < far) {  // towards the end
            field.text = std::to_string(far) + "/" + std::to_string(step);
            named.clear();
            for (int value = far; value >= 1; value -= step) named.insert(value);
        } else if (oneIn(2)) {
            bool const hasStep = oneIn(2);
            field.text += ".." + std::to_string(far);
            if (hasStep) field.text += "/" + std::to_string(step);
            for (int value = wanted; value <= far; value += hasStep ? step : 1) named.insert(value);
        }
        field.matches.push_back(
            [named](Day const& day) { return named.count(day.length - day.day() + 1) != 0; });
        return field;
    }
    void drawYears() {
        if (oneIn(2)) return;
        int const year = oneIn(6) ? from(1965, 2045) : target_.year();
        int const step = from(1, 4);
        int const first = std::max(1970, year - step * below(3));
        int const last = year + below(5);
        auto const add = [this](auto match) {
            years_.matches.push_back([match](Day const& day) { return match(day.year()); });
        };
        switch (below(4)) {
            case 0:
                years_.text = std::to_string(year >= 1970 ? year % 100 : year);
                add([year](int other) { return other == year; });
                break;
            case 1:
                years_.text = std::to_string(first) + "/" + std::to_string(step);
                add([=](int other) { return other >= first && (other - first) % step == 0; });
                break;
            case 2:
                years_.text = std::to_string(year) + "," + std::to_string(last);
                add([=](int other) { return other == year || other == last; });
                break;
            default:
                years_.text = std::to_string(std::min(first, last)) + ".." + std::to_string(last) +
                              "/" + std::to_string(step);
                add([=, from = std::min(first, last)](int other) {
                    return other >= from && other <= last && (other - from) % step == 0;
                });
        }
    }

    std::mt19937& random_;
    Day target_;
    bool isCron_;
    std::vector<std::string> none_;
    std::string text_;
    Field seconds_, minutes_, hours_, days_, months_, weekdays_, years_;
};

/// The runs from a day before `middle` to a day after, and some more.
std::vector<std::int64_t> expectedRuns(Random const& expression, CalendarPolicy policy,
                                       TimeZone const& zone, std::int64_t middle) {
    std::vector<TimeZone::Span> spans;
    for (sys_seconds at{seconds{middle - 3 * kDay}}; at < sys_seconds{seconds{middle + 3 * kDay}};
         at = spans.back().end)
        spans.push_back(zone.spanAt(at));
    std::vector<std::int64_t> runs;
    auto const first = std::chrono::floor<std::chrono::days>(sys_seconds{seconds{middle}});
    for (int away = -2; away <= 2; ++away) {
        for (std::int64_t const local : expression.timesOf(first + std::chrono::days{away})) {
            std::vector<std::int64_t> instants;
            for (auto const& span : spans) {
                sys_seconds const at{seconds{local} - span.offset};
                if (at >= span.begin && at < span.end)
                    instants.push_back(at.time_since_epoch().count());
            }
            if (expression.isInterval() || policy.overlap == Overlap::both) {
                runs.insert(runs.end(), instants.begin(), instants.end());
            } else if (!instants.empty()) {
                runs.push_back(policy.overlap == Overlap::first ? instants.front()
                                                                : instants.back());
            }
            if (!instants.empty() || expression.isInterval() || policy.gap == Gap::skip) continue;
            for (std::size_t i = 1; i < spans.size(); ++i) {
                std::int64_t const change = spans[i].begin.time_since_epoch().count();
                if (local >= change + spans[i - 1].offset.count() &&
                    local < change + spans[i].offset.count())
                    runs.push_back(change);
            }
        }
    }
    std::sort(runs.begin(), runs.end());
    return runs;
}

/// From a day before the change to a day after. True if something ran there.
bool expectRight(TimeZone const& zone, std::int64_t middle, std::mt19937& random) {
    auto const today = std::chrono::floor<std::chrono::days>(
        sys_seconds{seconds{middle}} + zone.spanAt(sys_seconds{seconds{middle}}).offset);
    Random const expression{random,
                            Day{today + std::chrono::days{random() % 3} - std::chrono::days{1}}};
    CalendarPolicy const policy{random() % 2 == 0 ? Gap::atItsEnd : Gap::skip,
                                static_cast<Overlap>(random() % 3)};
    auto const runs = expectedRuns(expression, policy, zone, middle);
    auto const parsed = expression.parsed();
    if (!parsed) {
        EXPECT_TRUE(runs.empty()) << expression.text() << " is refused";
        return false;
    }
    std::int64_t const step = std::abs((zone.spanAt(sys_seconds{seconds{middle}}).offset -
                                        zone.spanAt(sys_seconds{seconds{middle - 1}}).offset)
                                           .count());
    std::int64_t const end = middle + kDay;  // runs from there on may be incomplete
    for (std::int64_t after :
         {middle - kDay, middle - step - 1, middle - 1, middle, middle + step - 1}) {
        for (int i = 0; i < 6; ++i) {
            auto const found = std::upper_bound(runs.begin(), runs.end(), after);
            std::int64_t const expected = found == runs.end() ? end : std::min(*found, end);
            auto const next = parsed->next(sys_seconds{seconds{after}}, zone, policy);
            std::int64_t const actual =
                next ? std::min(next->time_since_epoch().count(), end) : end;
            EXPECT_EQ(actual, expected)
                << expression.text() << " in " << zone.name() << " after " << after << ", gap "
                << static_cast<int>(policy.gap) << ", overlap " << static_cast<int>(policy.overlap);
            if (actual != expected || actual == end) break;
            after = actual;
        }
    }
    return !runs.empty();
}

}  // namespace

/// At length each change is looked at, else one of a hundred.
TEST(CalendarOracle, AgreesAroundTheChangesOfEveryZone) {
    keepsZones();
    auto const zones = allZones();
    if (zones.empty()) GTEST_SKIP() << "this system has no zones";
    unsigned const oneIn = !isAtLength() ? 100 : kIsSanitized ? kSanitizerDivisor : 1;
    std::mt19937 random{static_cast<unsigned>(seedOr(20261125))};
    std::int64_t const end = utc("2042-01-01 00:00").time_since_epoch().count();
    std::size_t changes = 0;
    std::size_t looks = 0;
    std::size_t fruitful = 0;
    for (std::string const& name : zones) {
        TimeZone const zone{name};
        for (std::int64_t at = 0; at < end;) {
            at = zone.spanAt(sys_seconds{seconds{at}}).end.time_since_epoch().count();
            if (at >= end || random() % oneIn != 0) continue;
            ++changes;
            for (int i = 0; i < 3 && !HasFailure(); ++i, ++looks)
                fruitful += expectRight(zone, at, random) ? 1U : 0U;
            if (HasFailure()) return;
        }
    }
    printFigure(changes, " changes, ", looks, " expressions, of which ", fruitful, " ran there");
    EXPECT_GT(changes, 100U);
    EXPECT_GT(fruitful, looks / 3);
}
