#include "driver/Alarm.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace timingwheel::detail {
namespace {

/// A clock under which nobody sleeps: it counts how often somebody would.
class WakefulClock final : public Clock {
public:
    TimePoint now() const noexcept override { return TimePoint{}; }
    void wait(std::unique_lock<std::mutex>&, std::condition_variable&, TimePoint) override {
        ++waits;
    }
    int waits = 0;
};

class AlarmTest : public testing::Test {
protected:
    /// Sleeps until `tick`, and is rung for `ring` just before it would fall asleep. True if it
    /// falls asleep nevertheless.
    bool sleepsThrough(Tick tick, Tick ring) {
        int const before = clock_.waits;
        alarm_.sleep(tick, Clock::TimePoint::max(), [&](Tick) {
            alarm_.ring(ring);
            return false;
        });
        return clock_.waits > before;
    }

    WakefulClock clock_;
    Alarm alarm_{clock_, std::chrono::nanoseconds{0}};
};

// G22. Bug pattern: each schedule for the tick at which the driver wakes anyway wakes it.
TEST_F(AlarmTest, IsRungOnlyByWhatIsEarlier) {
    EXPECT_TRUE(sleepsThrough(Tick{10}, Tick{11}));
    EXPECT_TRUE(sleepsThrough(Tick{10}, Tick{10}));
    EXPECT_FALSE(sleepsThrough(Tick{10}, Tick{9}));
    EXPECT_TRUE(sleepsThrough(Tick{10}, Tick{10}));
    EXPECT_EQ(alarm_.wakeUps(), 3U);
}

TEST_F(AlarmTest, IsRungOnceForOneExpiration) {
    alarm_.sleep(Tick{10}, Clock::TimePoint::max(), [&](Tick) {
        alarm_.ring(Tick{5});
        return false;
    });
    EXPECT_EQ(clock_.waits, 0);
    // Awake it is not rung at all.
    alarm_.ring(Tick{1});
    EXPECT_TRUE(sleepsThrough(Tick{10}, Tick{10}));
}

}  // namespace
}  // namespace timingwheel::detail
