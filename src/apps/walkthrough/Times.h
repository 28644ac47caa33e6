#pragma once

#include <cstdint>
#include <string>

namespace walkthrough {

/// How a story says its times: a tick is a millisecond, or a second of a clock.
///
/// Thread safety  none needed: it is a value
class Times {
public:
    enum class Style : std::uint8_t { milliseconds, clock };

    explicit Times(Style style = Style::milliseconds) noexcept : style_{style} {}

    bool isClock() const noexcept { return style_ == Style::clock; }

    /// A time within a sentence: "8,499"; "9:16:05", "7:00:00 of day 2".
    std::string at(std::int64_t tick) const;
    /// The same where it stands alone: "8,499 ms"; "9:16:05".
    std::string moment(std::int64_t tick) const;
    /// How long something takes: "8,499 ms"; "42 min 17 s".
    std::string lasting(std::int64_t ticks) const;
    /// What a time is divided by: "8,000"; "1 h".
    std::string divisor(std::int64_t ticks) const;

private:
    Style style_;
};

/// 1234567 -> "1,234,567".
std::string grouped(std::int64_t number);

}  // namespace walkthrough
