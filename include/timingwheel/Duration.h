#pragma once

#include <timingwheel/detail/platform/Deleted.h>
#include <timingwheel/detail/platform/export.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

namespace timingwheel::inline v1 {

namespace detail {
[[noreturn]] TIMINGWHEEL_API void throwNotANumber();
}

/// A length of time in whole nanoseconds, made from a chrono duration of any unit, integral or
/// floating, whose ratio to the nanosecond can be expressed (that of tera-seconds cannot).
///
/// The conversion is checked:
///
/// - What is out of range saturates: `hours::max()` becomes `max()`, which means never.
/// - Fractions of a nanosecond are rounded up, so that nothing becomes early.
/// - NaN throws std::invalid_argument.
///
/// A floating count is converted in long double, so with its precision. Where that has 53 bits, as
/// with Visual C++ and on macOS on ARM64, the result may be off by the 2^53rd part of it, either
/// way: by a nanosecond or more beyond 104 days.
class Duration {
public:
    constexpr Duration() noexcept = default;
    template <class Rep, class Period>
    constexpr Duration(std::chrono::duration<Rep, Period> duration)  // implicit: call f(30s)
        : value_{convert<Rep, std::ratio_divide<Period, std::nano>>(duration.count())} {}

    // Mistakes, named in the error. A number needs a unit: 30s, 500ms. A time point must be of the
    // timer's clock, whose type is that of std::chrono::steady_clock.
    template <class NumberWithoutUnit>
        requires std::is_arithmetic_v<NumberWithoutUnit>
    Duration(NumberWithoutUnit)
        TIMINGWHEEL_DELETED("a length of time needs a unit: 30s, or std::chrono::seconds{30}");
    template <class OtherClock, class Length>
        requires(!std::is_convertible_v<std::chrono::time_point<OtherClock, Length>,
                                        std::chrono::steady_clock::time_point>)
    Duration(std::chrono::time_point<OtherClock, Length>)
        TIMINGWHEEL_DELETED("a time point must be one of std::chrono::steady_clock");

    static constexpr Duration(max)() noexcept {
        Duration longest;
        longest.value_ = kMax;
        return longest;
    }

    constexpr std::chrono::nanoseconds nanoseconds() const noexcept {
        return std::chrono::nanoseconds{value_};
    }
    constexpr std::int64_t count() const noexcept { return value_; }

private:
    static constexpr std::int64_t kMax = (std::numeric_limits<std::int64_t>::max)();
    static constexpr std::int64_t kMin = (std::numeric_limits<std::int64_t>::min)();

    template <class Rep, class Factor>
    static constexpr std::int64_t convert(Rep count) {
        if constexpr (std::is_floating_point_v<Rep>) {
            if (isNotANumber(static_cast<double>(count))) detail::throwNotANumber();
            return fromFloating(static_cast<long double>(count) * Factor::num / Factor::den);
        } else if constexpr (sizeof(Rep) < sizeof(std::int64_t)) {
            return fromWhole<Factor>(static_cast<std::int64_t>(count));
        } else {
            return fromWhole<Factor>(count);  // unsigned, or of 128 bits, perhaps
        }
    }

    /// Looks at the bits: with -ffast-math compilers assume that no number differs from itself.
    static constexpr bool isNotANumber(double count) noexcept {
        constexpr std::uint64_t kInfinity = 0x7FF0'0000'0000'0000;
        constexpr std::uint64_t kSign = 0x8000'0000'0000'0000;
        return (std::bit_cast<std::uint64_t>(count) & ~kSign) > kInfinity;
    }

    static constexpr std::int64_t fromFloating(long double nanoseconds) {
        if (nanoseconds >= 0x1p63L) return kMax;
        if (nanoseconds < -0x1p63L) return kMin;
        auto const whole = static_cast<std::int64_t>(nanoseconds);  // towards zero
        return static_cast<long double>(whole) < nanoseconds && whole < kMax ? whole + 1 : whole;
    }

    /// count * num / den, rounded up, exactly: whole units first, then what is left of one.
    template <class Factor, class Count>
    static constexpr std::int64_t fromWhole(Count count) {
        constexpr std::int64_t num = Factor::num;
        constexpr std::int64_t den = Factor::den;
        constexpr bool isSigned = Count(-1) < Count(0);
        Count const whole = count / static_cast<Count>(den);
        auto const rest = static_cast<std::int64_t>(count % static_cast<Count>(den));
        if (whole > static_cast<Count>(kMax / num)) return kMax;
        if constexpr (isSigned) {
            if (whole < static_cast<Count>(kMin / num)) return kMin;
        }
        std::int64_t const product = static_cast<std::int64_t>(whole) * num;
        std::int64_t const fraction =
            rest < 0 ? -partOf(num, -rest, den, Round::down) : partOf(num, rest, den, Round::up);
        if (fraction > 0 && product > kMax - fraction) return kMax;
        if (fraction < 0 && product < kMin - fraction) return kMin;
        return product + fraction;
    }

    enum class Round : bool { down, up };
    /// num * part / den by long division: the product may have 126 bits.
    /// REQUIRES: 0 <= part < den.
    static constexpr std::int64_t partOf(std::int64_t num, std::int64_t part, std::int64_t den,
                                         Round round) noexcept {
        auto const divisor = static_cast<std::uint64_t>(den);
        std::uint64_t quotient = 0;
        std::uint64_t rest = 0;
        auto const add = [&](std::uint64_t more) {
            rest += more;
            bool const isWhole = rest >= divisor;
            if (isWhole) rest -= divisor;
            quotient += isWhole ? 1 : 0;
        };
        for (auto bit = std::bit_floor(static_cast<std::uint64_t>(num)); bit > 0; bit /= 2) {
            quotient *= 2;
            add(rest);
            if ((static_cast<std::uint64_t>(num) & bit) != 0) add(static_cast<std::uint64_t>(part));
        }
        if (round == Round::up && rest > 0) ++quotient;
        return static_cast<std::int64_t>(quotient);
    }

    std::int64_t value_ = 0;
};

}  // namespace timingwheel::inline v1
