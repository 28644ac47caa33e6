#pragma once

#include <timingwheel/detail/platform/NoInline.h>
#include <timingwheel/detail/platform/Standard.h>

#include <cassert>
#include <compare>
#include <cstdint>
#include <ostream>

namespace timingwheel::inline v1 {

/// The unit in which a wheel counts time: an integer type of its own, never a time point.
///
/// A wheel does not know how long a tick lasts, nor when counting began; its driver does. A tick
/// has 60 bits, so that an entry's deadline and its state fit into one word. Construction and
/// addition saturate to `min()` and `max()`. A deadline of `max()` means never: no clock gets
/// there. The range is 18 years each way at 1 ns a tick, and 18 million years at 1 ms.
class Tick {
public:
    static constexpr std::int64_t kMax = (std::int64_t{1} << 59) - 1;
    static constexpr std::int64_t kMin = -kMax - 1;

    constexpr Tick() noexcept = default;
    constexpr explicit Tick(std::int64_t value) noexcept : value_{value} {
        if (!isUsual(value)) [[unlikely]]
            value_ = saturated(value);
    }

    static constexpr Tick(max)() noexcept { return Tick{kMax}; }
    static constexpr Tick(min)() noexcept { return Tick{kMin}; }

    /// For a value that lies in the range: without a look. REQUIRES: kMin <= value <= kMax.
    static constexpr Tick exactly(std::int64_t value) noexcept {
        assert(kMin <= value && value <= kMax);
        Tick tick;
        tick.value_ = value;
        return tick;
    }

    constexpr std::int64_t value() const noexcept { return value_; }

    /// The tick `ticks` later (earlier when negative).
    friend constexpr Tick operator+(Tick tick, std::int64_t ticks) noexcept {
        // If this overflows, the sum is not usual.
        auto const sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(tick.value_) +
                                                   static_cast<std::uint64_t>(ticks));
        if (!isUsual(sum)) [[unlikely]]
            return saturatedSum(tick, ticks);
        return exactly(sum);
    }

    friend constexpr bool operator==(Tick, Tick) noexcept = default;
    friend constexpr auto operator<=>(Tick, Tick) noexcept = default;

    friend std::ostream& operator<<(std::ostream& out, Tick tick) { return out << tick.value_; }

private:
    /// Nearly all are neither negative nor large: one comparison. The others are a call, or
    /// compilers would make all of them wait for conditional moves.
    static constexpr bool isUsual(std::int64_t value) noexcept {
        return static_cast<std::uint64_t>(value) <= std::uint64_t{kMax};
    }
    TIMINGWHEEL_NO_INLINE static constexpr std::int64_t saturated(std::int64_t value) noexcept {
        return value > kMax ? kMax : value < kMin ? kMin : value;
    }
    TIMINGWHEEL_NO_INLINE static constexpr Tick saturatedSum(Tick tick,
                                                             std::int64_t ticks) noexcept {
        if (ticks >= 0) return tick.value_ > kMax - ticks ? (max)() : Tick{tick.value_ + ticks};
        return tick.value_ < kMin - ticks ? (min)() : Tick{tick.value_ + ticks};
    }

    std::int64_t value_ = 0;
};

}  // namespace timingwheel::inline v1
