#include "core/base/Divisor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace timingwheel {
namespace {

using detail::Divisor;

constexpr std::uint64_t kMax = Divisor::kMaxDividend;

static_assert(Divisor{20}.divide(439) == 21);

// Every size of a wheel and every granularity that there can be is among these, or between two.
std::vector<std::uint64_t> divisors() {
    std::vector<std::uint64_t> values;
    for (std::uint64_t small = 1; small <= 1'100; ++small) values.push_back(small);
    for (unsigned bit = 10; bit <= 62; ++bit)
        for (std::uint64_t value : {(std::uint64_t{1} << bit) - 1, std::uint64_t{1} << bit,
                                    (std::uint64_t{1} << bit) + 1})
            values.push_back(std::min(value, kMax + 1));
    for (std::uint64_t base : {3U, 5U, 7U, 10U, 20U, 60U, 400U, 999U, 1'048'575U})
        for (std::uint64_t power = base; power <= kMax / base; power *= base)
            values.push_back(power * base);
    std::mt19937_64 random{11};
    for (int i = 0; i < 2'000; ++i) values.push_back((random() >> 2U >> random() % 60) + 1);
    return values;
}

void expectExact(Divisor const& divisor, std::uint64_t by, std::uint64_t dividend) {
    ASSERT_EQ(divisor.divide(dividend), dividend / by) << dividend << " / " << by;
}

// A reciprocal that is a little off fails first where a quotient has just become larger or is about
// to, and the farther up the sooner.
TEST(Divisor, IsExactBesideTheMultiplesOfTheDivisorUpToTheLargestDividend) {
    for (std::uint64_t by : divisors()) {
        Divisor const divisor{by};
        std::uint64_t const most = kMax / by;
        for (std::uint64_t times : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, most / 3,
                                    most / 2, most - std::min<std::uint64_t>(most, 1), most}) {
            std::uint64_t const multiple = std::min(times, most) * by;
            expectExact(divisor, by, multiple);
            expectExact(divisor, by, std::min(multiple + 1, kMax));
            if (multiple > 0) expectExact(divisor, by, multiple - 1);
        }
        expectExact(divisor, by, kMax);
        expectExact(divisor, by, kMax - 1);
    }
}

TEST(Divisor, IsExactBesideEveryPowerOfTwo) {
    for (std::uint64_t by : divisors()) {
        Divisor const divisor{by};
        for (unsigned bit = 0; bit < 62; ++bit) {
            std::uint64_t const power = std::uint64_t{1} << bit;
            expectExact(divisor, by, power - 1);
            expectExact(divisor, by, power);
            expectExact(divisor, by, power + 1);
        }
    }
}

TEST(Divisor, IsExactForRandomNumbersOfEveryLength) {
    std::mt19937_64 random{12};
    for (std::uint64_t by : divisors()) {
        Divisor const divisor{by};
        for (int i = 0; i < 100; ++i) expectExact(divisor, by, random() >> 2U >> random() % 62);
    }
}

TEST(Divisor, IsExactForEverySmallPair) {
    for (std::uint64_t by = 1; by <= 300; ++by) {
        Divisor const divisor{by};
        for (std::uint64_t dividend = 0; dividend <= 3'000; ++dividend)
            expectExact(divisor, by, dividend);
    }
}

}  // namespace
}  // namespace timingwheel
