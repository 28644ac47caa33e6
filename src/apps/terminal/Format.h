#pragma once

#include <array>
#include <chrono>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace terminal {

/// printf into a string of at most 511 characters.
[[gnu::format(printf, 1, 2)]] inline std::string text(char const* format, ...) {
    std::array<char, 512> buffer{};
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
    va_end(arguments);
    return buffer.data();
}

/// 1234567 -> "1,234,567".
inline std::string grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t end = digits.size(); end > 3;) {
        end -= 3;
        digits.insert(end, 1, ',');
    }
    return digits;
}

/// "1 tick", "8,499 ticks".
inline std::string counted(std::uint64_t number, std::string const& what) {
    return grouped(number) + ' ' + what + (number == 1 ? "" : "s");
}

inline double toSeconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>{time}.count();
}

/// Three significant figures with a unit: "68.2 us", "400 ms", "8 s", "2.67 min".
inline std::string readable(std::chrono::nanoseconds time) {
    struct Unit {
        char const* name;
        double nanoseconds;
        double upTo;  ///< in this unit
    };
    static constexpr std::array<Unit, 7> kUnits{{{"ns", 1, 999.5},
                                                 {"us", 1e3, 999.5},
                                                 {"ms", 1e6, 999.5},
                                                 {"s", 1e9, 599.5},
                                                 {"min", 60e9, 119.5},
                                                 {"h", 3600e9, 47.5},
                                                 {"days", 86400e9, 1e300}}};
    auto const value = static_cast<double>(time.count());
    for (Unit const& unit : kUnits) {
        double const inUnit = value / unit.nanoseconds;
        if (inUnit < unit.upTo)
            return text(inUnit < 999.5 ? "%.3g %s" : "%.0f %s", inUnit, unit.name);
    }
    return "?";
}

}  // namespace terminal
