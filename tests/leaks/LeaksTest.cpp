// That a leak is found in every test program: this one has one, and fails. tests/CMakeLists.txt
// expects that.

#include <gtest/gtest.h>

namespace timingwheel::test {
namespace {

int* volatile kept;

TEST(Leaks, WhatATestGivesBackIsNone) {
    kept = new int{1};
    delete kept;
}

TEST(Leaks, AreFound) { kept = new int{2}; }

}  // namespace
}  // namespace timingwheel::test
