#pragma once

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Asks the processor to fetch the cache line at `address`, which need not be valid. A hint: does
/// nothing if the compiler has no such function.
inline void prefetch([[maybe_unused]] void const* address) noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#endif
}

/// The same for a line that will be written.
inline void prefetchToWrite([[maybe_unused]] void const* address) noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(address, 1);
#endif
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
