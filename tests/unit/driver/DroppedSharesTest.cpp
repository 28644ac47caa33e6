#include "core/driver/lock/DroppedShares.h"

#include <gtest/gtest.h>

namespace timingwheel::detail {
namespace {

TEST(DroppedShares, WhileTheTimerLivesNoneIsTheLast) {
    DroppedShares shares;
    EXPECT_FALSE(shares.drop(1));
    EXPECT_FALSE(shares.drop(2));
}

TEST(DroppedShares, TheLastOneAfterTheTimerSaysSo) {
    DroppedShares shares;
    EXPECT_FALSE(shares.drop(1));
    EXPECT_FALSE(shares.orphan(4));
    EXPECT_FALSE(shares.drop(1));
    EXPECT_TRUE(shares.drop(2));
}

TEST(DroppedShares, OrphanSaysThatNoneIsLeft) {
    DroppedShares none;
    EXPECT_TRUE(none.orphan(0));
    DroppedShares all;
    EXPECT_FALSE(all.drop(3));
    EXPECT_TRUE(all.orphan(3));
}

}  // namespace
}  // namespace timingwheel::detail
