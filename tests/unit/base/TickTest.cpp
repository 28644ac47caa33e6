#include <timingwheel/Tick.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <type_traits>

namespace timingwheel {
namespace {

TEST(Tick, BeginsAtZero) { EXPECT_EQ(Tick{}.value(), 0); }

TEST(Tick, KeepsSixtyBits) {
    EXPECT_EQ(Tick::max().value(), 576'460'752'303'423'487);
    EXPECT_EQ(Tick::min().value(), -576'460'752'303'423'488);
}

TEST(Tick, LastsEighteenYearsOfNanosecondsOrEighteenMillionOfMilliseconds) {
    std::int64_t const millisecondsAYear = std::int64_t{1000} * 60 * 60 * 24 * 365;
    EXPECT_EQ(Tick::max().value() / (millisecondsAYear * 1'000'000), 18);
    EXPECT_EQ(Tick::max().value() / millisecondsAYear / 1'000'000, 18);
}

TEST(Tick, KeepsEveryValueInRange) {
    for (std::int64_t value : {Tick::kMin, Tick::kMin + 1, std::int64_t{-1}, std::int64_t{0},
                               std::int64_t{1}, Tick::kMax - 1, Tick::kMax})
        EXPECT_EQ(Tick{value}.value(), value);
}

TEST(Tick, ConstructionSaturates) {
    EXPECT_EQ(Tick{Tick::kMax + 1}, Tick::max());
    EXPECT_EQ(Tick{INT64_MAX}, Tick::max());
    EXPECT_EQ(Tick{Tick::kMin - 1}, Tick::min());
    EXPECT_EQ(Tick{INT64_MIN}, Tick::min());
}

TEST(Tick, AdditionAddsTicks) {
    EXPECT_EQ(Tick{40} + 2, Tick{42});
    EXPECT_EQ(Tick{40} + -42, Tick{-2});
    EXPECT_EQ(Tick::min() + 1, Tick{Tick::kMin + 1});
}

TEST(Tick, AdditionSaturates) {
    EXPECT_EQ(Tick::max() + 1, Tick::max());
    EXPECT_EQ(Tick::min() + -1, Tick::min());
    EXPECT_EQ(Tick{1} + INT64_MAX, Tick::max());
    EXPECT_EQ(Tick{-1} + INT64_MIN, Tick::min());
}

// A "never" that is counted from a clock before 0 must not come out as a tick that will be reached.
TEST(Tick, AdditionSaturatesByTheSumAndNotByTheAddend) {
    EXPECT_EQ(Tick{-1} + INT64_MAX, Tick::max());
    EXPECT_EQ(Tick::min() + INT64_MAX, Tick::max());
    EXPECT_EQ(Tick{1} + INT64_MIN, Tick::min());
    EXPECT_EQ(Tick::max() + INT64_MIN, Tick::min());
    EXPECT_EQ(Tick::min() + (std::int64_t{1} << 60), Tick::max());
    EXPECT_EQ(Tick::min() + ((std::int64_t{1} << 60) - 1), Tick::max());
    EXPECT_EQ(Tick::min() + ((std::int64_t{1} << 60) - 2), Tick{Tick::kMax - 1});
}

TEST(Tick, ComparesByValue) {
    EXPECT_LT(Tick{-1}, Tick{0});
    EXPECT_GT(Tick::max(), Tick::min());
    EXPECT_NE(Tick{1}, Tick{2});
    EXPECT_EQ(Tick{7}, Tick{7});
}

TEST(Tick, IsNoInteger) {
    EXPECT_FALSE((std::is_convertible_v<std::int64_t, Tick>));
    EXPECT_FALSE((std::is_convertible_v<Tick, std::int64_t>));
}

TEST(Tick, PrintsItsValue) {
    std::ostringstream out;
    out << Tick{-12};
    EXPECT_EQ(out.str(), "-12");
}

}  // namespace
}  // namespace timingwheel
