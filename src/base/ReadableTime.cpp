#include "base/ReadableTime.h"

#include <cstdint>
#include <ostream>
#include <string>

namespace timingwheel {
inline namespace v1 {
namespace detail {

namespace {

using namespace std::chrono_literals;

struct Unit {
    std::chrono::nanoseconds length;
    char const* name;
};
constexpr Unit kLong[] = {{24h, "d"}, {1h, "h"}, {1min, "min"}, {1s, "s"}};
constexpr Unit kShort[] = {{1s, "s"}, {1ms, "ms"}, {1us, "us"}, {1ns, "ns"}};

/// Overflow cannot happen before the 584th year: what is longer stays as it is.
std::chrono::nanoseconds roundedUp(std::chrono::nanoseconds time, std::chrono::nanoseconds unit) {
    auto const over = time % unit;
    if (over == 0ns || time > std::chrono::nanoseconds::max() - unit) return time - over;
    return time - over + unit;
}

/// "12.5", of thousandths.
std::string decimal(std::int64_t thousandths) {
    std::string text = std::to_string(thousandths / 1000);
    if (thousandths % 1000 == 0) return text;
    std::string fraction = std::to_string(1000 + thousandths % 1000).substr(1);
    return text + '.' + fraction.substr(0, fraction.find_last_not_of('0') + 1);
}

/// "1 h 30 min": the largest unit that fits, and the next one. REQUIRES: at least a minute.
void writeLong(std::ostream& out, std::chrono::nanoseconds time) {
    Unit const* unit = kLong;
    while (time < unit->length) ++unit;
    Unit const& next = unit[1];
    time = roundedUp(time, next.length);
    if (unit != kLong && time >= unit[-1].length) return writeLong(out, time);  // 23 h 60 min
    out << time / unit->length << ' ' << unit->name;
    if (auto const rest = time % unit->length; rest > 0ns)
        out << ' ' << rest / next.length << ' ' << next.name;
}

void writeShort(std::ostream& out, std::chrono::nanoseconds time) {
    Unit const* unit = kShort;
    while (time < unit->length && unit->length > 1ns) ++unit;
    auto const thousandth = unit->length / 1000;
    if (thousandth > 0ns) time = roundedUp(time, thousandth);
    if (unit != kShort && time >= unit[-1].length) --unit;  // 1000 ms
    auto const thousandths =
        unit->length == 1ns ? time.count() * 1000 : time / (unit->length / 1000);
    out << decimal(thousandths) << ' ' << unit->name;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, ReadableTime const& readable) {
    auto const time = readable.time;
    if (time >= 1min)
        writeLong(out, time);
    else if (roundedUp(time, 1ms) >= 1min)
        out << "1 min";
    else
        writeShort(out, time);
    return out;
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
