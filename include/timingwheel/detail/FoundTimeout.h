#pragma once

#include <timingwheel/PendingTimeout.h>
#include <timingwheel/detail/platform/export.h>

#include <functional>
#include <type_traits>

namespace timingwheel::inline v1::detail {

/// A pending timeout on its way to a visitor.
struct FoundTimeout : PendingTimeout {
    void const* entry = nullptr;  ///< which one it is: compared, never followed
};

[[noreturn]] TIMINGWHEEL_API void throwEmptyVisitor();

/// Calls a visitor, which may return false to end the visit.
template <class Visit>
bool goesOn(Visit& visit, PendingTimeout const& timeout) {
    if constexpr (std::is_same_v<std::invoke_result_t<Visit&, PendingTimeout const&>, bool>) {
        return std::invoke(visit, timeout);
    } else {
        static_cast<void>(std::invoke(visit, timeout));
        return true;
    }
}

}  // namespace timingwheel::inline v1::detail
