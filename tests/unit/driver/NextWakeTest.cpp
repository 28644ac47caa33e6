#include "core/driver/lock/NextWake.h"

#include <gtest/gtest.h>

namespace timingwheel::detail {
namespace {

TEST(NextWake, IsNeverBeforeItIsSet) {
    NextWake nextWake;
    EXPECT_EQ(nextWake.get(), Tick::max());
    nextWake.set(Tick{7});
    EXPECT_EQ(nextWake.get(), Tick{7});
    nextWake.set(Tick{9});
    EXPECT_EQ(nextWake.get(), Tick{9});
}

TEST(NextWake, LowerMakesItEarlierOnly) {
    NextWake nextWake;
    nextWake.set(Tick{7});
    nextWake.lower(Tick{8});
    EXPECT_EQ(nextWake.get(), Tick{7});
    nextWake.lower(Tick{6});
    EXPECT_EQ(nextWake.get(), Tick{6});
}

TEST(NextWake, LowerBesideOthersSaysWhetherItBecameEarlier) {
    NextWake nextWake;
    EXPECT_TRUE(nextWake.lowerBesideOthers(Tick{7}));
    EXPECT_FALSE(nextWake.lowerBesideOthers(Tick{7}));
    EXPECT_FALSE(nextWake.lowerBesideOthers(Tick{8}));
    EXPECT_EQ(nextWake.get(), Tick{7});
    EXPECT_TRUE(nextWake.lowerBesideOthers(Tick{6}));
    EXPECT_EQ(nextWake.get(), Tick{6});
}

TEST(NextWake, RaiseMakesItLaterOnlyAndReturnsIt) {
    NextWake nextWake;
    nextWake.set(Tick{7});
    EXPECT_EQ(nextWake.raise(Tick{5}), Tick{7});
    EXPECT_EQ(nextWake.get(), Tick{7});
    EXPECT_EQ(nextWake.raise(Tick{9}), Tick{9});
    EXPECT_EQ(nextWake.get(), Tick{9});
}

}  // namespace
}  // namespace timingwheel::detail
