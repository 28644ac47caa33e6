#pragma once

#include <timingwheel/detail/platform/Standard.h>

#include <bit>
#include <cassert>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// The number of the lowest bit that is set. std::countr_zero() also has to tell if there is none,
/// which takes three more instructions. REQUIRES: bits != 0.
inline unsigned lowestBit(std::uint64_t bits) noexcept {
    assert(bits != 0);
#if defined(__GNUC__) || defined(__clang__)
    return static_cast<unsigned>(__builtin_ctzll(bits));
#else
    return static_cast<unsigned>(std::countr_zero(bits));
#endif
}

}  // namespace timingwheel::inline v1::detail
