#include "core/base/platform/CheckedArithmetic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace timingwheel::detail {
namespace {

/// Both say the same, and the same result where there is one.
template <class Integer, class Function, class Portable>
void expectSame(Integer a, Integer b, Function&& function, Portable&& portable) {
    Integer result{};
    Integer other{};
    bool const overflows = function(a, b, result);
    ASSERT_EQ(portable(a, b, other), overflows) << a << ", " << b;
    if (!overflows) {
        ASSERT_EQ(other, result) << a << ", " << b;
    }
}

/// Zero, the ends of the range, powers of two and their neighbours, and some others.
template <class Integer>
std::vector<Integer> numbersToTry() {
    std::vector<Integer> numbers{0, std::numeric_limits<Integer>::min(),
                                 std::numeric_limits<Integer>::max()};
    std::mt19937_64 random{7};
    for (unsigned bit = 0; bit < 64; ++bit) {
        std::uint64_t const power = std::uint64_t{1} << bit;
        for (std::uint64_t const value : {power - 1, power, power + 1, random() >> bit}) {
            numbers.push_back(static_cast<Integer>(value));
            numbers.push_back(static_cast<Integer>(0 - value));
        }
    }
    return numbers;
}

TEST(CheckedArithmetic, IsTheSameInPlainCpp) {
    using Signed = bool (*)(std::int64_t, std::int64_t, std::int64_t&) noexcept;
    for (std::int64_t const a : numbersToTry<std::int64_t>())
        for (std::int64_t const b : numbersToTry<std::int64_t>()) {
            expectSame(a, b, addOverflows, portable::addOverflows);
            expectSame(a, b, subtractOverflows, portable::subtractOverflows);
            expectSame(a, b, Signed{multiplyOverflows}, Signed{portable::multiplyOverflows});
        }
}

TEST(CheckedArithmetic, IsTheSameInPlainCppWithoutASign) {
    using Unsigned = bool (*)(std::uint64_t, std::uint64_t, std::uint64_t&) noexcept;
    for (std::uint64_t const a : numbersToTry<std::uint64_t>())
        for (std::uint64_t const b : numbersToTry<std::uint64_t>())
            expectSame(a, b, Unsigned{multiplyOverflows}, Unsigned{portable::multiplyOverflows});
}

}  // namespace
}  // namespace timingwheel::detail
