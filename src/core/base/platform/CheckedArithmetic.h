#pragma once

#include <cstdint>
#include <limits>

namespace timingwheel::inline v1::detail {

// Each stores the result and returns false, or returns true if it does not fit: do not use `result`
// then.

/// The same in plain C++, for compilers without such functions.
namespace portable {

using Limits = std::numeric_limits<std::int64_t>;

inline bool addOverflows(std::int64_t a, std::int64_t b, std::int64_t& result) noexcept {
    if (b > 0 ? a > Limits::max() - b : a < Limits::min() - b) return true;
    result = a + b;
    return false;
}

inline bool subtractOverflows(std::int64_t a, std::int64_t b, std::int64_t& result) noexcept {
    if (b < 0 ? a > Limits::max() + b : a < Limits::min() + b) return true;
    result = a - b;
    return false;
}

inline bool multiplyOverflows(std::int64_t a, std::int64_t b, std::int64_t& result) noexcept {
    if (a > 0 ? b > Limits::max() / a || b < Limits::min() / a
              : a < 0 && (b > 0 ? a < Limits::min() / b : b != 0 && a < Limits::max() / b))
        return true;
    result = a * b;
    return false;
}

inline bool multiplyOverflows(std::uint64_t a, std::uint64_t b, std::uint64_t& result) noexcept {
    if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return true;
    result = a * b;
    return false;
}

}  // namespace portable

#if defined(__GNUC__)

inline bool addOverflows(std::int64_t a, std::int64_t b, std::int64_t& result) noexcept {
    return __builtin_add_overflow(a, b, &result);
}

inline bool subtractOverflows(std::int64_t a, std::int64_t b, std::int64_t& result) noexcept {
    return __builtin_sub_overflow(a, b, &result);
}

inline bool multiplyOverflows(std::int64_t a, std::int64_t b, std::int64_t& result) noexcept {
    return __builtin_mul_overflow(a, b, &result);
}

inline bool multiplyOverflows(std::uint64_t a, std::uint64_t b, std::uint64_t& result) noexcept {
    return __builtin_mul_overflow(a, b, &result);
}

#else

using portable::addOverflows;
using portable::multiplyOverflows;
using portable::subtractOverflows;

#endif

}  // namespace timingwheel::inline v1::detail
