#pragma once

#include <timingwheel/detail/platform/Standard.h>

#include <cstdint>

namespace timingwheel::inline v1::detail {

/// The upper 64 bits of a * b, from four products of 32 bits, for compilers without a wider type.
constexpr std::uint64_t upperHalfOfProductPortably(std::uint64_t a, std::uint64_t b) noexcept {
    constexpr std::uint64_t kLower = 0xffff'ffff;
    std::uint64_t const low = (a & kLower) * (b & kLower);
    std::uint64_t const left = (a >> 32U) * (b & kLower) + (low >> 32U);
    std::uint64_t const right = (a & kLower) * (b >> 32U) + (left & kLower);
    return (a >> 32U) * (b >> 32U) + (left >> 32U) + (right >> 32U);
}

/// The upper 64 bits of a * b.
constexpr std::uint64_t upperHalfOfProduct(std::uint64_t a, std::uint64_t b) noexcept {
#ifdef __SIZEOF_INT128__
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{a} * b >> 64U);
#else
    return upperHalfOfProductPortably(a, b);
#endif
}

}  // namespace timingwheel::inline v1::detail
