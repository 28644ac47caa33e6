#include "apps/walkthrough/Times.h"

namespace walkthrough {

namespace {

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

std::string twoDigits(std::int64_t number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
}

std::string timeOfDay(std::int64_t second) {
    return std::to_string(second / kHour) + ':' + twoDigits(second / kMinute % 60) + ':' +
           twoDigits(second % 60);
}

}  // namespace

std::string grouped(std::int64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t end = digits.size(); end > 3;) {
        end -= 3;
        digits.insert(end, 1, ',');
    }
    return digits;
}

std::string Times::at(std::int64_t tick) const {
    if (!isClock()) return grouped(tick);
    std::string const time = timeOfDay(tick % kDay);
    return tick < kDay ? time : time + " of day " + grouped(tick / kDay + 1);
}

std::string Times::moment(std::int64_t tick) const { return isClock() ? at(tick) : lasting(tick); }

std::string Times::lasting(std::int64_t ticks) const {
    if (!isClock()) return grouped(ticks) + " ms";
    struct Part {
        std::int64_t length;
        char const* unit;
    };
    std::string said;
    for (auto const& [length, unit] :
         {Part{kDay, " d"}, Part{kHour, " h"}, Part{kMinute, " min"}, Part{1, " s"}}) {
        if (ticks < length) continue;
        said += (said.empty() ? "" : " ") + grouped(ticks / length) + unit;
        ticks %= length;
    }
    return said.empty() ? "0 s" : said;
}

std::string Times::divisor(std::int64_t ticks) const {
    return isClock() ? lasting(ticks) : grouped(ticks);
}

}  // namespace walkthrough
