#include "core/base/ReadableTime.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ostream>
#include <string>

namespace timingwheel::inline v1::detail {

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
    std::size_t i = 0;
    while (time < kLong[i].length) ++i;
    auto const [length, name] = kLong[i];
    auto const [nextLength, nextName] = kLong[i + 1];
    time = roundedUp(time, nextLength);
    if (i > 0 && time >= kLong[i - 1].length) return writeLong(out, time);  // 23 h 60 min
    out << time / length << ' ' << name;
    if (auto const rest = time % length; rest > 0ns)
        out << ' ' << rest / nextLength << ' ' << nextName;
}

/// "12.5 s": in the largest unit that fits, or in nanoseconds.
void writeShort(std::ostream& out, std::chrono::nanoseconds time) {
    std::size_t i = 0;
    while (i + 1 < std::size(kShort) && time < kShort[i].length) ++i;
    auto const thousandth = std::max(kShort[i].length / 1000, 1ns);
    time = roundedUp(time, thousandth);
    if (i > 0 && time >= kShort[i - 1].length) --i;  // 1000 ms
    auto const [length, name] = kShort[i];
    // A nanosecond has no parts.
    out << decimal(length == 1ns ? time.count() * 1000 : time / (length / 1000)) << ' ' << name;
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

}  // namespace timingwheel::inline v1::detail
