#include "core/driver/context/StripedCounter.h"

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Each schedule calls this, so constant initialisation spares it a guard.
std::size_t indexOfThisThread() noexcept {
    constexpr std::size_t kNone = SIZE_MAX;
    static constinit std::atomic<std::size_t> next{0};
    static constinit thread_local std::size_t index = kNone;
    if (index == kNone) index = next.fetch_add(1, std::memory_order_relaxed);
    return index;
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
