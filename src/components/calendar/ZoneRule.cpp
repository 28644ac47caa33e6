#include "components/calendar/ZoneRule.h"

#include <algorithm>
#include <initializer_list>

namespace timingwheel::inline v1::calendar {

namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

/// Three letters or more, or anything between `<` and `>`.
void skipName(Reader& reader) {
    if (!reader.skip("<")) {
        if (reader.letters().size() < 3) {
            reader.fail("a name is expected here");
        }
        reader.skip(reader.letters());
        return;
    }
    while (!reader.skip(">")) {
        char const next = reader.peek();
        if (!reader.skip({&next, 1})) {
            reader.fail("a \">\" is expected here");
        }
    }
}

/// Hours, minutes and seconds with a sign: `-1`, `3:30`.
seconds readTime(Reader& reader, int mostHours) {
    int const sign = reader.skip("-") ? -1 : 1;
    if (sign > 0) {
        reader.skip("+");
    }
    int time = 3600 * reader.number(0, mostHours);
    for (int const unit : {60, 1}) {
        if (!reader.skip(":")) {
            break;
        }
        time += unit * reader.number(0, 59);
    }
    return seconds{sign * time};
}

}  // namespace

ZoneRule::ZoneRule(std::string_view text) {
    Reader reader{text, {text, 0}};
    skipName(reader);
    standard_ = summer_ = -readTime(reader, 24);
    if (!reader.atEnd()) {
        skipName(reader);
        summer_ = reader.peek() == ',' ? standard_ + std::chrono::hours{1} : -readTime(reader, 24);
        toSummer_ = readChange(reader);
        toStandard_ = readChange(reader);
    }
    if (!reader.atEnd()) {
        reader.fail("not understood");
    }
}

ZoneRule::Change ZoneRule::readChange(Reader& reader) {
    if (!reader.skip(",")) {
        reader.fail("a \",\" is expected here");
    }
    Change change{Change::Kind::dayOfYear, 0, 0, 0, std::chrono::hours{2}};
    if (reader.skip("M")) {
        change.kind = Change::Kind::weekday;
        change.month = reader.number(1, 12);
        reader.skip(".");
        change.week = reader.number(1, 5);
        reader.skip(".");
        change.day = reader.number(0, 6);
    } else if (reader.skip("J")) {
        change.kind = Change::Kind::dayButLeapDays;
        change.day = reader.number(1, 365);
    } else {
        change.day = reader.number(0, 365);
    }
    if (reader.skip("/")) {
        change.time = readTime(reader, 167);
    }
    return change;
}

/// As if the zone's clock showed UTC.
seconds ZoneRule::timeIn(Change const& change, std::chrono::year year) {
    using namespace std::chrono;
    sys_days day = year / 1 / 1;
    switch (change.kind) {
        case Change::Kind::dayOfYear:
            day += days{change.day};
            break;
        case Change::Kind::dayButLeapDays:
            // 1 March is the 60th day.
            day += days{change.day - (year.is_leap() && change.day >= 60 ? 0 : 1)};
            break;
        case Change::Kind::weekday: {
            weekday const name{static_cast<unsigned>(change.day)};
            auto const month = year / change.month;
            day = change.week == 5 ? sys_days{month / name[last]}
                                   : sys_days{month / name[static_cast<unsigned>(change.week)]};
        }
    }
    return day.time_since_epoch() + change.time;
}

TimeZone::Span ZoneRule::spanAt(sys_seconds instant) const {
    using namespace std::chrono;
    TimeZone::Span span{sys_seconds::min(), sys_seconds::max(), standard_};
    if (standard_ == summer_) {
        return span;
    }
    auto const meet = [&](seconds change, seconds offset) {
        sys_seconds const at{change};
        if (at > instant) {
            span.end = std::min(span.end, at);
        } else if (at >= span.begin) {
            span.begin = at;
            span.offset = offset;
        }
    };
    year const inUtc = year_month_day{floor<days>(instant)}.year();
    for (year const year : {inUtc - years{1}, inUtc, inUtc + years{1}}) {
        meet(timeIn(toSummer_, year) - standard_, summer_);
        meet(timeIn(toStandard_, year) - summer_, standard_);
    }
    return span;
}

}  // namespace timingwheel::inline v1::calendar
