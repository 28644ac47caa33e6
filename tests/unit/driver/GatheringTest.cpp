#include "core/driver/book/Gathering.h"

#include <gtest/gtest.h>

namespace timingwheel::detail {
namespace {

TEST(Gathering, WhatACancelAllTookOverIsNotCorrectedLater) {
    Gathering gathering;
    gathering.beginTurnBack(true);
    EXPECT_TRUE(gathering.isCorrection());
    gathering.beginCancelAll();
    EXPECT_FALSE(gathering.isTurningBack());
    gathering.endCancelAll();
    gathering.beginTurnBack(false);
    EXPECT_FALSE(gathering.isCorrection());
}

TEST(Gathering, WhatATurnBackLeavesToACancelAllIsNotCorrectedLater) {
    Gathering gathering;
    gathering.beginCancelAll();
    gathering.beginTurnBack(true);
    EXPECT_FALSE(gathering.isTurningBack());
    gathering.endCancelAll();
    gathering.beginTurnBack(false);
    EXPECT_TRUE(gathering.isTurningBack());
    EXPECT_FALSE(gathering.isCorrection());
}

}  // namespace
}  // namespace timingwheel::detail
