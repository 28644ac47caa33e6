#include <gtest/gtest.h>

#include <apps/walkthrough/Times.h>

namespace walkthrough {
namespace {

TEST(Times, AreNumbersOrAClocks) {
    Times const numbers;
    EXPECT_EQ(numbers.at(8'499), "8,499");
    EXPECT_EQ(numbers.moment(8'499), "8,499 ms");
    EXPECT_EQ(numbers.lasting(1), "1 ms");
    EXPECT_EQ(numbers.divisor(8'000), "8,000");
    Times const clock{Times::Style::clock};
    EXPECT_EQ(clock.at(0), "0:00:00");
    EXPECT_EQ(clock.at(86'399), "23:59:59");
    EXPECT_EQ(clock.at(86'400), "0:00:00 of day 2");
    EXPECT_EQ(clock.moment(60), "0:01:00");
    EXPECT_EQ(clock.lasting(0), "0 s");
    EXPECT_EQ(clock.lasting(3'600), "1 h");
    EXPECT_EQ(clock.lasting(90'061), "1 d 1 h 1 min 1 s");
    EXPECT_EQ(clock.divisor(86'400), "1 d");
}

}  // namespace
}  // namespace walkthrough
