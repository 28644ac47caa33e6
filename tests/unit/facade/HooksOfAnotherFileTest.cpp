namespace timingwheel::test {
namespace {
constexpr char const* kFile = "another file";
}
}  // namespace timingwheel::test

#include "HooksOfAFile.h"

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

// Bug pattern: g++ takes what is made of one file's class for what is made of the other's.
TEST(HooksOfAnotherFile, CallWhatItHas) {
    Calls const expected{"a member of another file", "a lambda of another file",
                         "a function of another file"};
    EXPECT_EQ(callsOfHooks(), expected);
}

}  // namespace
}  // namespace timingwheel::test
