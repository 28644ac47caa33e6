namespace timingwheel::test {
namespace {
constexpr char const* kFile = "one file";
}
}  // namespace timingwheel::test

#include "HooksOfAFile.h"

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

// Bug pattern: g++ takes what is made of one file's class for what is made of the other's.
TEST(HooksOfOneFile, CallWhatItHas) {
    Calls const expected{"a member of one file", "a lambda of one file", "a function of one file"};
    EXPECT_EQ(callsOfHooks(), expected);
}

}  // namespace
}  // namespace timingwheel::test
