#include "components/calendar/LocalSearch.h"
#include "components/calendar/Parser.h"

#include <timingwheel/calendar/CalendarError.h>

namespace timingwheel::inline v1::calendar {

namespace {

enum class Kind { number, day, month, weekday };

struct Field {
    Kind kind;
    int low;
    int high;
};

int readValue(Reader& reader, Field field) {
    int value = -1;
    if (field.kind == Kind::month) {
        value = monthName(reader);
    } else if (field.kind == Kind::weekday) {
        value = weekdayName(reader);
    }
    return value >= 0 ? value : reader.number(field.low, field.high);
}

/// Reads what may only stand for a day: `L`, `L-3`, `LW`. False if it is none of them.
bool readLastDay(Reader& reader, CalendarFields& fields) {
    if (!reader.skip("L")) {
        return false;
    }
    if (reader.skip("W")) {
        fields.lastWorkday = true;
    } else {
        fields.daysFromEnd |= bit(reader.skip("-") ? reader.number(1, 30) : 0);
    }
    return true;
}

/// Reads what may follow a single value: `15W`, `5L`, `MON#2`. False if nothing of it does.
bool readSuffix(Reader& reader, Field field, int value, CalendarFields& fields) {
    if (field.kind == Kind::day && reader.skip("W")) {
        fields.nearestWorkdays |= bit(value);
        return true;
    }
    if (field.kind != Kind::weekday) {
        return false;
    }
    if (reader.skip("L")) {
        fields.lastWeekdays |= bit(value % 7);
        return true;
    }
    if (reader.skip("#")) {
        fields.nthWeekdays |= bit(7 * (reader.number(1, 5) - 1) + value % 7);
        return true;
    }
    return false;
}

/// Reads one item of a list.
std::uint64_t readItem(Reader& reader, Field field, CalendarFields& fields) {
    int const size = field.kind == Kind::weekday ? 7 : field.high - field.low + 1;
    int const top = field.low + size - 1;
    bool const isDay = field.kind == Kind::day || field.kind == Kind::weekday;
    if (field.kind == Kind::day && readLastDay(reader, fields)) {
        return 0;
    }
    if (isDay && reader.skip("?")) {
        return bit(top + 1) - bit(field.low);
    }
    int first = field.low;
    int last = top;
    if (!reader.skip("*")) {
        first = readValue(reader, field);
        if (readSuffix(reader, field, first, fields)) {
            return 0;
        }
        last = first;
        if (reader.skip("-")) {
            last = readValue(reader, field);
            last += last < first ? size : 0;
        } else if (reader.peek() == '/') {
            last = top;
            first = first > top ? first - size : first;
        }
    }
    int const step = reader.skip("/") ? reader.number(1, size) : 1;
    std::uint64_t set = 0;
    for (int value = first; value <= last; value += step) {
        set |= bit(value > top ? value - size : value);
    }
    return set;
}

std::uint64_t readField(std::string_view expression, Word word, Field field,
                        CalendarFields& fields) {
    Reader reader{expression, word};
    std::uint64_t set = 0;
    do {
        set |= readItem(reader, field, fields);
    } while (reader.skip(","));
    if (!reader.atEnd()) {
        reader.fail("not understood");
    }
    return set;
}

bool isInterval(Word word) {
    return word.text.front() == '*' && word.text.find(',') == std::string_view::npos;
}

bool restricts(Word word) { return word.text.front() != '*' && word.text.front() != '?'; }

std::string_view meaningOfMacro(std::string_view macro) {
    if (macro == "@yearly" || macro == "@annually") {
        return "0 0 1 1 *";
    }
    if (macro == "@monthly") {
        return "0 0 1 * *";
    }
    if (macro == "@weekly") {
        return "0 0 * * 0";
    }
    if (macro == "@daily" || macro == "@midnight") {
        return "0 0 * * *";
    }
    return macro == "@hourly" ? "0 * * * *" : "";
}

}  // namespace

CalendarFields parseCron(std::string_view expression) {
    std::vector<Word> words = wordsOf(expression);
    if (words.size() == 1 && words[0].text.front() == '@') {
        std::string_view const meaning = meaningOfMacro(words[0].text);
        if (meaning.empty()) {
            throw CalendarError{"no shorthand is called \"" + std::string{words[0].text} + "\"",
                                expression, words[0].position};
        }
        return parseCron(meaning);
    }
    if (words.size() < 5) {
        throw CalendarError{"five or six fields are expected, not " + std::to_string(words.size()),
                            expression, expression.size()};
    }
    if (words.size() > 6) {
        throw CalendarError{"at most six fields are expected, not " + std::to_string(words.size()),
                            expression, words[6].position};
    }
    CalendarFields fields;
    auto word = words.begin();
    if (words.size() == 6) {
        fields.seconds = readField(expression, *word++, {Kind::number, 0, 59}, fields);
    }
    Word const minute = *word++;
    Word const hour = *word++;
    Word const day = *word++;
    Word const month = *word++;
    Word const weekday = *word;
    fields.minutes = readField(expression, minute, {Kind::number, 0, 59}, fields);
    fields.hours = readField(expression, hour, {Kind::number, 0, 23}, fields);
    fields.days = readField(expression, day, {Kind::day, 1, 31}, fields);
    fields.months = readField(expression, month, {Kind::month, 1, 12}, fields);
    fields.weekdays = readField(expression, weekday, {Kind::weekday, 0, 7}, fields);
    fields.eitherDay = restricts(day) && restricts(weekday);
    fields.byElapsedTime = isInterval(minute) || isInterval(hour);
    if (!everComes(fields)) {
        throw CalendarError{"this day never comes", expression, day.position};
    }
    return fields;
}

}  // namespace timingwheel::inline v1::calendar
