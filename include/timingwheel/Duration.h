#pragma once

#include <timingwheel/export.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

namespace timingwheel {
inline namespace v1 {

namespace detail {
[[noreturn]] TIMINGWHEEL_API void throwNotANumber();
}

/// A length of time in whole nanoseconds, made from a chrono duration of any unit whose ratio to
/// the nanosecond can be expressed (tera-seconds' cannot), of floating ones too.
///
/// The conversion is checked: what is out of range saturates (`hours::max()` becomes `max()`, which
/// a timer takes for "never"), fractions of a nanosecond are rounded up, so that nothing becomes
/// early, and NaN throws std::invalid_argument.
class Duration {
public:
    constexpr Duration() noexcept = default;
    template <class Rep, class Period>
    constexpr Duration(std::chrono::duration<Rep, Period> duration)  // implicit: call f(30s)
        : value_{convert<Rep, std::ratio_divide<Period, std::nano>>(duration.count())} {}

    static constexpr Duration max() noexcept {
        Duration longest;
        longest.value_ = kMax;
        return longest;
    }

    constexpr std::chrono::nanoseconds nanoseconds() const noexcept {
        return std::chrono::nanoseconds{value_};
    }
    constexpr std::int64_t count() const noexcept { return value_; }

private:
    static constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    static constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

    template <class Rep, class Factor>
    static constexpr std::int64_t convert(Rep count) {
        if constexpr (std::is_floating_point_v<Rep>) {
            return fromFloating(static_cast<long double>(count) * Factor::num / Factor::den);
        } else if constexpr (Factor::num == 1 && Factor::den == 1) {
            return saturated(count);
        } else {
            return fromWhole<Factor>(saturated(count));
        }
    }

    static constexpr std::int64_t fromFloating(long double nanoseconds) {
        if (nanoseconds != nanoseconds) detail::throwNotANumber();
        if (nanoseconds >= 0x1p63L) return kMax;
        if (nanoseconds < -0x1p63L) return kMin;
        auto const whole = static_cast<std::int64_t>(nanoseconds);  // towards zero
        return static_cast<long double>(whole) < nanoseconds && whole < kMax ? whole + 1 : whole;
    }

    /// count * num / den, rounded up: num or den is 1 for every unit of the standard.
    template <class Factor>
    static constexpr std::int64_t fromWhole(std::int64_t count) {
        constexpr std::int64_t num = Factor::num;
        constexpr std::int64_t den = Factor::den;
        std::int64_t const whole = count / den;
        std::int64_t const rest = count % den;
        if (whole > kMax / num) return kMax;
        if (whole < kMin / num) return kMin;
        std::int64_t const fraction = rest == 0 ? 0
                                                : fromFloating(static_cast<long double>(rest) *
                                                               num / static_cast<long double>(den));
        std::int64_t const product = whole * num;
        if (fraction > 0 && product > kMax - fraction) return kMax;
        if (fraction < 0 && product < kMin - fraction) return kMin;
        return product + fraction;
    }

    template <class Rep>
    static constexpr std::int64_t saturated(Rep count) {
        if constexpr (std::is_unsigned_v<Rep> && sizeof(Rep) >= sizeof(std::int64_t)) {
            return count > static_cast<Rep>(kMax) ? kMax : static_cast<std::int64_t>(count);
        } else {
            return static_cast<std::int64_t>(count);
        }
    }

    std::int64_t value_ = 0;
};

}  // namespace v1
}  // namespace timingwheel
