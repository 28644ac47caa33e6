#pragma once

#include "components/calendar/CalendarFields.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace timingwheel::inline v1::calendar {

/// A word of an expression, and where it stands.
struct Word {
    std::string_view text;
    std::size_t position;
};

/// An expression with a place in it that is read next.
///
/// Reads numbers and names; what does not fit is a CalendarError at that place.
class Reader {
public:
    Reader(std::string_view expression, Word word)
        : expression_{expression}, at_{word.position}, end_{word.position + word.text.size()} {}

    [[nodiscard]] bool atEnd() const { return at_ == end_; }
    [[nodiscard]] std::size_t position() const { return at_; }
    [[nodiscard]] char peek() const { return atEnd() ? '\0' : expression_[at_]; }

    /// Steps over `expected`, in any case, if it stands here.
    bool skip(std::string_view expected);
    /// Reads a number from low to high.
    int number(int low, int high);
    /// The letters that stand here, in lower case; reads nothing.
    [[nodiscard]] std::string letters() const;

    [[noreturn]] void fail(std::string const& reason) const { failAt(at_, reason); }
    [[noreturn]] void failAt(std::size_t position, std::string const& reason) const;

private:
    std::string_view expression_;
    std::size_t at_;
    std::size_t end_;
};

std::vector<Word> wordsOf(std::string_view expression);

/// A set of one value.
inline std::uint64_t bit(int value) { return std::uint64_t{1} << static_cast<unsigned>(value); }

/// Reads a weekday's name: three letters, or all of them. -1 if there is none.
int weekdayName(Reader& reader);
/// Reads a month's name. -1 if there is none.
int monthName(Reader& reader);

CalendarFields parseCron(std::string_view expression);
/// `zone` becomes the zone's name, or stays empty.
CalendarFields parseOnCalendar(std::string_view expression, Word& zone);

}  // namespace timingwheel::inline v1::calendar
