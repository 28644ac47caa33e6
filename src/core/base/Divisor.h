#pragma once

#include <timingwheel/detail/platform/WideProduct.h>

#include <bit>
#include <cassert>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// A number to divide by many times: each division costs one multiplication.
///
/// With l = ceil(log2 d) and m = ceil(2^(62 + l) / d), n / d is exactly n * m / 2^(62 + l), rounded
/// down, for every n below 2^62 (T. Granlund, P. Montgomery, "Division by Invariant Integers using
/// Multiplication", 1994, theorem 4.2). Since
/// m is at most 2^63 and 4n fits 64 bits, the upper half of 4n * m is all that is needed.
///
/// Worked example: d = 20 has l = 5 and m = ceil(2^67 / 20); 439 / 20 is the upper half of
/// 1756 * m, shifted right by 5: 21
class Divisor {
public:
    static constexpr std::uint64_t kMaxDividend = (std::uint64_t{1} << 62) - 1;

    /// REQUIRES: 1 <= divisor <= 2^62.
    constexpr explicit Divisor(std::uint64_t divisor) noexcept
        : shift_{static_cast<std::uint32_t>(std::bit_width(divisor - 1))},
          factor_{powerOfTwoOver(divisor, 62 + shift_)} {
        assert(divisor >= 1 && divisor <= kMaxDividend + 1);
    }

    /// The quotient, rounded down. REQUIRES: dividend <= kMaxDividend.
    constexpr std::uint64_t divide(std::uint64_t dividend) const noexcept {
        return upperHalfOfProduct(dividend << 2U, factor_) >> shift_;
    }

private:
    /// 2^exponent / divisor, rounded up, by long division: once for each divisor.
    static constexpr std::uint64_t powerOfTwoOver(std::uint64_t divisor,
                                                  std::uint32_t exponent) noexcept {
        std::uint64_t quotient = 0;
        std::uint64_t rest = 1;
        if (rest >= divisor) {
            rest -= divisor;
            quotient = 1;
        }
        for (std::uint32_t i = 0; i < exponent; ++i) {
            rest *= 2;
            quotient *= 2;
            if (rest >= divisor) {
                rest -= divisor;
                ++quotient;
            }
        }
        return rest == 0 ? quotient : quotient + 1;
    }

    std::uint32_t shift_;
    std::uint64_t factor_;
};

}  // namespace timingwheel::inline v1::detail
