#include "components/kafka/daemon/Recurrence.h"

#include "components/kafka/client/Headers.h"

#include <timingwheel/calendar/CalendarError.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace timingwheel::inline v1::kafka {

namespace {

using calendar::CalendarExpression;
using calendar::Gap;
using calendar::Overlap;
using calendar::TimeZone;

// The first three are rules, of which a timer may have one. The next three belong to the
// calendar's.
constexpr std::array kNames{header::kEvery, header::kCron,    header::kCalendar, header::kZone,
                            header::kGap,   header::kOverlap, header::kMissed};

constexpr char const* kOneOfThree = "timingwheel-every, timingwheel-cron and timingwheel-calendar";

bool isRule(std::string_view name) {
    return name == header::kEvery || name == header::kCron || name == header::kCalendar;
}

Refusal refusalOf(Header const& header, std::string const& reason) {
    return {std::string{header.name} + " is " + quoted(*header.value) + ": " + reason};
}

/// A message of others, which may quote what a stranger has written.
std::string inOneLine(std::string_view message) {
    std::string result;
    for (char const letter : message.substr(0, message.find('\n')).substr(0, 200))
        result += letter >= ' ' && letter <= '~' ? letter : '?';
    return result;
}

/// Whether these can stand together, whatever they say.
std::optional<Refusal> refusalOfNames(std::vector<Header> const& headers) {
    Header const& rule = headers.front();
    bool const isByCalendar = rule.name == header::kCron || rule.name == header::kCalendar;
    for (Header const& header : headers) {
        if (header.value->size() > kMaxRule)
            return Refusal{std::string{header.name} + " has " +
                           std::to_string(header.value->size()) + " bytes: the most is " +
                           std::to_string(kMaxRule)};
        if (isRule(header.name) && &header != &rule)
            return refusalOf(header, std::string{"a timer has one of "} + kOneOfThree);
        if (header.name == header::kMissed && !isRule(rule.name))
            return refusalOf(header, std::string{"it belongs to one of "} + kOneOfThree);
        if (!isRule(header.name) && header.name != header::kMissed && !isByCalendar)
            return refusalOf(header, "it belongs to timingwheel-cron or timingwheel-calendar");
    }
    return std::nullopt;
}

/// Fills in what the header's word stands for, if there is one, or returns what is wrong with it.
template <class Value, std::size_t size>
std::optional<Refusal> readWord(std::vector<Header> const& headers, std::string_view name,
                                std::array<std::pair<std::string_view, Value>, size> const& words,
                                Value& value) {
    auto const written = lastHeader(headers, name);
    if (!written) return std::nullopt;
    std::string known;
    for (auto const& [word, meaning] : words) {
        if (*written == word) {
            value = meaning;
            return std::nullopt;
        }
        known += (known.empty() ? "" : ", ") + std::string{word};
    }
    return refusalOf({name, written}, "it must be one of " + known);
}

/// Fills in the milliseconds, or returns what is wrong with them.
std::optional<Refusal> readEvery(Header const& header, std::int64_t most, std::int64_t& every) {
    char const* const end = header.value->data() + header.value->size();
    auto const [read, error] = std::from_chars(header.value->data(), end, every);
    if (error == std::errc{} && read == end && every >= kMinEvery && every <= most)
        return std::nullopt;
    return refusalOf(header, "it must be a whole number of milliseconds, " +
                                 std::to_string(kMinEvery) + " to " + std::to_string(most) +
                                 " (--max-delay-days)");
}

std::variant<CalendarExpression, Refusal> readExpression(Header const& header) {
    try {
        return header.name == header::kCron ? CalendarExpression::cron(*header.value)
                                            : CalendarExpression::onCalendar(*header.value);
    } catch (calendar::CalendarError const& error) {
        return refusalOf(header, inOneLine(error.what()) + ", at character " +
                                     std::to_string(error.position() + 1));
    }
}

}  // namespace

std::vector<Header> Recurrence::headersOf(Record const& record) {
    std::vector<Header> headers;
    for (std::string_view const name : kNames)
        if (auto const value = lastHeader(record, name)) headers.push_back({name, value});
    return headers;
}

std::variant<Recurrence, Refusal> Recurrence::read(std::vector<Header> const& headers,
                                                   std::int64_t maxEvery) {
    static constexpr std::array kGaps{std::pair{header::kAtItsEnd, Gap::atItsEnd},
                                      std::pair{header::kSkip, Gap::skip}};
    static constexpr std::array kOverlaps{std::pair{header::kFirst, Overlap::first},
                                          std::pair{header::kLast, Overlap::last},
                                          std::pair{header::kBoth, Overlap::both}};
    static constexpr std::array kMisses{std::pair{header::kSkip, false},
                                        std::pair{header::kCatchUp, true}};
    if (auto refusal = refusalOfNames(headers)) return *refusal;
    Header const& rule = headers.front();
    Recurrence recurrence;
    if (auto refusal = readWord(headers, header::kMissed, kMisses, recurrence.catchesUp_))
        return *refusal;
    if (rule.name == header::kEvery) {
        std::int64_t every = 0;
        if (auto refusal = readEvery(rule, maxEvery, every)) return *refusal;
        recurrence.rule_ = every;
        return recurrence;
    }

    auto expression = readExpression(rule);
    if (auto const* const refusal = std::get_if<Refusal>(&expression)) return *refusal;
    ByCalendar byCalendar{std::get<CalendarExpression>(std::move(expression)), {}, {}};
    if (auto const zone = lastHeader(headers, header::kZone)) {
        if (auto const& own = byCalendar.expression.zone())
            return refusalOf({header::kZone, zone},
                             "timingwheel-calendar ends with a zone itself, " + own->name());
        try {
            byCalendar.zone = TimeZone{*zone};
        } catch (std::invalid_argument const& error) {
            return Refusal{std::string{header::kZone} + ": " + inOneLine(error.what())};
        }
    }
    if (auto refusal = readWord(headers, header::kGap, kGaps, byCalendar.policy.gap))
        return *refusal;
    if (auto refusal = readWord(headers, header::kOverlap, kOverlaps, byCalendar.policy.overlap))
        return *refusal;
    recurrence.rule_ = std::move(byCalendar);
    return recurrence;
}

std::optional<std::int64_t> Recurrence::next(std::int64_t at, std::int64_t now) const {
    using std::chrono::milliseconds;
    std::int64_t const last = catchesUp_ ? at : std::max(at, now);
    if (auto const* const every = std::get_if<std::int64_t>(&rule_))
        return last - (last - at) % *every + *every;
    auto const& [expression, zone, policy] = std::get<ByCalendar>(rule_);
    auto const found = expression.next(std::chrono::floor<std::chrono::seconds>(
                                           std::chrono::sys_time<milliseconds>{milliseconds{last}}),
                                       zone, policy);
    if (!found) return std::nullopt;
    return milliseconds{found->time_since_epoch()}.count();
}

}  // namespace timingwheel::inline v1::kafka
