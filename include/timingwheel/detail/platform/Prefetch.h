#pragma once

#include <timingwheel/detail/platform/Standard.h>

#if defined(_MSC_VER) && !defined(__clang__)  // written for, not tried
#    include <intrin.h>
#endif

namespace timingwheel::inline v1::detail {

/// Asks the processor to fetch the cache line at `address`, which need not be valid. A hint: does
/// nothing if the compiler has no such function.
inline void prefetch([[maybe_unused]] void const* address) noexcept {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
#elif defined(_M_X64) || defined(_M_IX86)
    _mm_prefetch(static_cast<char const*>(address), _MM_HINT_T0);
#elif defined(_M_ARM64)
    __prefetch(address);
#endif
}

/// The same for a line that will be written.
inline void prefetchToWrite([[maybe_unused]] void const* address) noexcept {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address, 1);
#else
    prefetch(address);
#endif
}

}  // namespace timingwheel::inline v1::detail
