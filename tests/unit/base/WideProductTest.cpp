#include <timingwheel/detail/platform/WideProduct.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

namespace timingwheel::detail {
namespace {

// What stands in for a wider type where the compiler has none.
TEST(WideProduct, IsTheSameInFourParts) {
    constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
    static_assert(upperHalfOfProductPortably(kAll, kAll) == kAll - 1);
    static_assert(upperHalfOfProductPortably(std::uint64_t{1} << 32U, std::uint64_t{1} << 32U) ==
                  1);
    std::mt19937_64 random{7};
    for (int i = 0; i < 100'000; ++i) {
        std::uint64_t const a = random() >> (random() % 64);
        std::uint64_t const b = random() >> (random() % 64);
        ASSERT_EQ(upperHalfOfProductPortably(a, b), upperHalfOfProduct(a, b)) << a << " * " << b;
    }
}

}  // namespace
}  // namespace timingwheel::detail
