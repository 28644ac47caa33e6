#pragma once

#if defined(_MSC_VER) && !defined(__clang__)  // written for, not tried
#    include <intrin.h>
#endif

namespace timingwheel::inline v1::detail {

/// Tells the processor that this loop waits.
inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#elif defined(_M_X64) || defined(_M_IX86)
    _mm_pause();
#elif defined(_M_ARM64)
    __yield();
#endif
}

}  // namespace timingwheel::inline v1::detail
