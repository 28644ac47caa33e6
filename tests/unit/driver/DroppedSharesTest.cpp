#include "core/driver/lock/DroppedShares.h"

#include <gtest/gtest.h>

#include <thread>

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

TEST(DroppedShares, OfTheFavouriteCountAsThoseOfOthers) {
    DroppedShares shares;
    shares.favourThisThread();
    EXPECT_FALSE(shares.drop(1));
    std::thread{[&shares] {
        shares.favourThisThread();  // is too late
        EXPECT_FALSE(shares.drop(2));
    }}.join();
    EXPECT_FALSE(shares.orphan(5));
    EXPECT_FALSE(shares.drop(1));
    EXPECT_TRUE(shares.drop(1));

    DroppedShares all;
    all.favourThisThread();
    EXPECT_FALSE(all.drop(3));
    EXPECT_TRUE(all.orphan(3));
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
