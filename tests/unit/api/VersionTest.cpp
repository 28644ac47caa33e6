// The header that includes all others, and the version.

#include <timingwheel/timingwheel.h>

#include <gtest/gtest.h>

#include <string>

namespace timingwheel::test {
namespace {

static_assert(TIMINGWHEEL_VERSION == TIMINGWHEEL_VERSION_MAJOR * 10'000 +
                                         TIMINGWHEEL_VERSION_MINOR * 100 +
                                         TIMINGWHEEL_VERSION_PATCH);

TEST(VersionTest, IsOneTextAndThreeNumbers) {
    std::string const text = std::to_string(TIMINGWHEEL_VERSION_MAJOR) + "." +
                             std::to_string(TIMINGWHEEL_VERSION_MINOR) + "." +
                             std::to_string(TIMINGWHEEL_VERSION_PATCH);
    EXPECT_EQ(text, TIMINGWHEEL_VERSION_STRING);
}

TEST(VersionTest, OneHeaderHasEverything) {
    ManualClock clock;
    SystemTimer system{{.clock = clock}};
    ManualTimer manual{{.clock = clock}};
    HashedWheelTimer flat{{.clock = clock, .leakDetection = false}};
    TaskPool pool{{.threads = 1}};
    EXPECT_EQ(system.pendingTimeouts() + manual.pendingTimeouts() + flat.pendingTimeouts(), 0U);
    EXPECT_EQ(pool.queued(), 0U);
}

}  // namespace
}  // namespace timingwheel::test
