#include "apps/demo/Outcome.h"

#include <gtest/gtest.h>

namespace demo {
namespace {

TEST(Outcome, FailsWhenTheFollowedTaskIsLostRunTwiceOrEarly) {
    auto const exitStatus = [](Followed followed) {
        Outcome outcome;
        outcome.add(followed);
        return outcome.exitStatus(false);
    };
    EXPECT_EQ(exitStatus({.runs = 1}), 0);
    EXPECT_EQ(exitStatus({.returned = 1}), 0);
    EXPECT_EQ(exitStatus({}), 1);
    EXPECT_EQ(exitStatus({.runs = 2}), 1);
    EXPECT_EQ(exitStatus({.runs = 1, .returned = 1}), 1);
    EXPECT_EQ(exitStatus({.runs = 1, .early = 1}), 1);
}

TEST(Outcome, FailsWhenSomethingCouldNotBeWrittenAndTellsOfAnInterrupt) {
    EXPECT_EQ(Outcome{}.exitStatus(false), 0);
    EXPECT_EQ(Outcome{}.exitStatus(true), 130);
    EXPECT_EQ(Outcome{.isWritten = false}.exitStatus(false), 1);
    EXPECT_EQ(Outcome{.isWritten = false}.exitStatus(true), 1);
}

}  // namespace
}  // namespace demo
