#pragma once

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Tells the processor that this loop waits.
inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
