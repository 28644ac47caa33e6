#include "components/calendar/LocalSearch.h"
#include "components/calendar/Parser.h"

#include <timingwheel/calendar/CalendarError.h>

#include <algorithm>
#include <utility>

namespace timingwheel::inline v1::calendar {

namespace {

constexpr std::uint64_t allFrom(int low, int high) {
    return (std::uint64_t{2} << static_cast<unsigned>(high)) -
           (std::uint64_t{1} << static_cast<unsigned>(low));
}

/// What the numbers of a field count from.
enum class From { begin, monthsEnd };

int asWritten(int value) { return value; }
int fullYear(int year) { return year >= 100 ? year : year + (year < 70 ? 2000 : 1900); }

/// Reads `*`, or a list of values, ranges and repetitions. `meant` is what a number stands for.
/// Calls add(first, last, step) for each.
template <class Add>
void readList(Reader& reader, int low, int high, From from, int (*meant)(int), Add add) {
    do {
        if (reader.skip("*")) {
            bool const repeats = from == From::begin && reader.skip("/");
            add(low, high, repeats ? reader.number(1, high) : 1);
            continue;
        }
        std::size_t const begin = reader.position();
        int first = reader.number(low, high);
        int last = first;
        bool const isRange = reader.skip("..");
        if (isRange) {
            last = reader.number(low, high);
            if (meant(last) < meant(first)) {
                reader.failAt(begin, "the range ends at " + std::to_string(meant(last)) +
                                         ", before it begins at " + std::to_string(meant(first)));
            }
        }
        int step = 1;
        if (reader.skip("/")) {
            std::size_t const place = reader.position();
            step = reader.number(1, isRange ? kLastYear : high);
            int const most = from == From::begin ? high - first : first - low;
            if (!isRange && step > most) {
                reader.failAt(place, "from " + std::to_string(first) +
                                         " on, a repetition is at most " + std::to_string(most));
            }
            if (!isRange && from == From::begin) {
                last = high;
            } else if (!isRange) {
                first = low + most % step;  // it goes on towards the month's end
            }
        }
        add(meant(first), meant(last), step);
    } while (reader.skip(","));
}

std::uint64_t readSet(Reader& reader, int low, int high, From from = From::begin) {
    std::uint64_t set = 0;
    readList(reader, low, high, from, asWritten, [&set](int first, int last, int step) {
        for (int value = first; value <= last; value += step) {
            set |= bit(value);
        }
    });
    return set;
}

void readYears(Reader& reader, CalendarFields& fields) {
    if (reader.peek() == '*') {
        reader.skip("*");
        if (reader.peek() != '/') {
            return;
        }
        reader.fail("a repetition of years needs a first year");
    }
    readList(reader, 0, kLastYear, From::begin, fullYear, [&](int first, int last, int step) {
        fields.years.push_back({first, last, step});
    });
}

void readDate(Reader& reader, Word word, CalendarFields& fields) {
    auto const dashes = std::count_if(word.text.begin(), word.text.end(),
                                      [](char c) { return c == '-' || c == '~'; });
    if (dashes == 2) {
        readYears(reader, fields);
        if (!reader.skip("-")) {
            reader.fail("a \"-\" and the month are expected here");
        }
    }
    fields.months = readSet(reader, 1, 12);
    if (reader.skip("~")) {
        fields.days = 0;
        fields.daysFromEnd = readSet(reader, 1, 31, From::monthsEnd) >> 1U;  // ~1 is the last
    } else if (reader.skip("-")) {
        fields.days = readSet(reader, 1, 31);
    } else {
        reader.fail("\"-\" or \"~\" and the day are expected here");
    }
}

/// True for `*`, `*/n` and `0/n`, which are an interval.
bool isInterval(std::string_view text) {
    std::size_t const digits = text.find_first_not_of('0');
    bool const fromNought = digits != 0 && digits < text.size() && text[digits] == '/';
    return text.find(',') == std::string_view::npos && (text.front() == '*' || fromNought);
}

void readTime(Reader& reader, std::string_view expression, CalendarFields& fields) {
    std::size_t const hour = reader.position();
    fields.hours = readSet(reader, 0, 23);
    std::size_t const hourEnd = reader.position();
    if (!reader.skip(":")) {
        reader.fail("a \":\" and the minute are expected here");
    }
    std::size_t const minute = reader.position();
    fields.minutes = readSet(reader, 0, 59);
    std::size_t const minuteEnd = reader.position();
    fields.byElapsedTime = isInterval(expression.substr(hour, hourEnd - hour)) ||
                           isInterval(expression.substr(minute, minuteEnd - minute));
    if (reader.skip(":")) {
        fields.seconds = readSet(reader, 0, 59);
    }
    if (reader.peek() == '.') {
        reader.fail("fractions of seconds are not supported");
    }
}

void readWeekdays(Reader& reader, CalendarFields& fields) {
    auto const name = [&reader] {
        int const found = weekdayName(reader);
        if (found < 0) {
            reader.fail("a weekday is expected here");
        }
        return found;
    };
    fields.weekdays = 0;
    do {
        if (reader.atEnd()) {
            break;  // a comma at the end, as systemd has it
        }
        int const first = name();
        int last = reader.skip("..") || reader.skip("-") ? name() : first;
        last += last < first ? 7 : 0;
        for (int value = first; value <= last; ++value) {
            fields.weekdays |= bit(value % 7);
        }
    } while (reader.skip(","));
}

/// In any case, as systemd has it.
std::string_view meaningOfWord(std::string_view expression, Word word) {
    static constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
        {"minutely", "*-*-* *:*:00"},         {"hourly", "*-*-* *:00:00"},
        {"daily", "*-*-* 00:00:00"},          {"weekly", "Mon *-*-* 00:00:00"},
        {"monthly", "*-*-01 00:00:00"},       {"quarterly", "*-01,04,07,10-01 00:00:00"},
        {"semiannually", "*-01,07-01 00:00"}, {"semi-annually", "*-01,07-01 00:00"},
        {"yearly", "*-01-01 00:00:00"},       {"annually", "*-01-01 00:00:00"}};
    for (auto const& [shorthand, meaning] : kMeanings) {
        Reader reader{expression, word};
        if (reader.skip(shorthand) && reader.atEnd()) {
            return meaning;
        }
    }
    return {};
}

bool beginsWithLetter(std::string_view expression, Word word) {
    return !Reader{expression, word}.letters().empty();
}

bool isWeekday(std::string_view expression, Word word) {
    Reader reader{expression, word};
    return weekdayName(reader) >= 0;
}

CalendarFields everyDayAtMidnight() {
    CalendarFields fields;
    fields.hours = 1;
    fields.minutes = 1;
    fields.months = allFrom(1, 12);
    fields.days = allFrom(1, 31);
    fields.weekdays = allFrom(0, 6);
    return fields;
}

}  // namespace

CalendarFields parseOnCalendar(std::string_view expression, Word& zone) {
    std::vector<Word> words = wordsOf(expression);
    if (words.empty()) {
        throw CalendarError{"an expression is expected", expression, expression.size()};
    }
    auto word = words.begin();
    CalendarFields fields = everyDayAtMidnight();
    std::size_t dayPosition = word->position;
    auto const finish = [&](Reader const& reader) {
        if (!reader.atEnd()) {
            reader.fail("not understood");
        }
        ++word;
    };
    if (std::string_view const meaning = meaningOfWord(expression, *word); !meaning.empty()) {
        fields = parseOnCalendar(meaning, zone);
        ++word;
    } else {
        if (isWeekday(expression, *word)) {
            Reader reader{expression, *word};
            readWeekdays(reader, fields);
            finish(reader);
        }
        if (word != words.end() && !beginsWithLetter(expression, *word) &&
            word->text.find_first_of("-~") != std::string_view::npos) {
            dayPosition = word->position + word->text.find_last_of("-~") + 1;
            Reader reader{expression, *word};
            readDate(reader, *word, fields);
            finish(reader);
        }
        if (word != words.end() && !beginsWithLetter(expression, *word)) {
            Reader reader{expression, *word};
            readTime(reader, expression, fields);
            finish(reader);
        }
        if (word == words.begin()) {
            throw CalendarError{"not understood", expression, word->position};
        }
    }
    if (word != words.end()) {
        zone = *word++;
        Reader reader{expression, zone};
        if (reader.skip("UTC") && reader.atEnd()) {
            zone.text = "UTC";  // in any case, as systemd has it
        }
    }
    if (word != words.end()) {
        throw CalendarError{"nothing may follow the zone", expression, word->position};
    }
    if (!everComes(fields)) {
        throw CalendarError{"this day never comes", expression, dayPosition};
    }
    return fields;
}

}  // namespace timingwheel::inline v1::calendar
