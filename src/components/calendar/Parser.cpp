#include "components/calendar/Parser.h"

#include <timingwheel/calendar/CalendarError.h>

#include <algorithm>
#include <array>

namespace timingwheel::inline v1::calendar {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool isLetter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isSpace(char c) { return c == ' ' || c == '\t'; }

constexpr std::array<std::string_view, 7> kWeekdays{"sunday",   "monday", "tuesday", "wednesday",
                                                    "thursday", "friday", "saturday"};
constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};

}  // namespace

bool Reader::skip(std::string_view expected) {
    if (end_ - at_ < expected.size()) {
        return false;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (lower(expression_[at_ + i]) != lower(expected[i])) {
            return false;
        }
    }
    at_ += expected.size();
    return true;
}

int Reader::number(int low, int high) {
    std::size_t const begin = at_;
    int value = 0;
    for (; isDigit(peek()); ++at_) {
        value = std::min(value * 10 + (peek() - '0'), 99999);
    }
    if (at_ == begin) {
        fail("a number is expected here");
    }
    if (value < low || value > high) {
        failAt(begin, "the number must be from " + std::to_string(low) + " to " +
                          std::to_string(high) + ", not " +
                          std::string{expression_.substr(begin, at_ - begin)});
    }
    return value;
}

std::string Reader::letters() const {
    std::string found;
    for (std::size_t i = at_; i < end_ && isLetter(expression_[i]); ++i) {
        found += lower(expression_[i]);
    }
    return found;
}

void Reader::failAt(std::size_t position, std::string const& reason) const {
    throw CalendarError{reason, expression_, position};
}

std::vector<Word> wordsOf(std::string_view expression) {
    std::vector<Word> words;
    for (std::size_t at = 0; at < expression.size();) {
        std::size_t end = at;
        while (end < expression.size() && !isSpace(expression[end])) {
            ++end;
        }
        if (end > at) {
            words.push_back({expression.substr(at, end - at), at});
        }
        at = end + 1;
    }
    return words;
}

int weekdayName(Reader& reader) {
    std::string const letters = reader.letters();
    for (std::size_t i = 0; i < kWeekdays.size(); ++i) {
        if (letters == kWeekdays[i]) {
            reader.skip(kWeekdays[i]);
            return static_cast<int>(i);
        }
        // `FRIL` is Friday's name and an L.
        if (letters == kWeekdays[i].substr(0, 3) ||
            letters == std::string{kWeekdays[i].substr(0, 3)} + "l") {
            reader.skip(kWeekdays[i].substr(0, 3));
            return static_cast<int>(i);
        }
    }
    return -1;
}

int monthName(Reader& reader) {
    std::string const letters = reader.letters();
    for (std::size_t i = 0; i < kMonths.size(); ++i) {
        if (letters == kMonths[i]) {
            reader.skip(kMonths[i]);
            return static_cast<int>(i) + 1;
        }
    }
    return -1;
}

}  // namespace timingwheel::inline v1::calendar
