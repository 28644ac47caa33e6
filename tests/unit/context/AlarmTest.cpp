#include "context/Alarm.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
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

// It wakes before the time, and looks again and again until that has come. A machine that is busy
// may wake it too late for that; it may take several attempts.
TEST(SpinningAlarm, IsAwakeBeforeItsTime) {
    using namespace std::chrono_literals;
    int looks = 0;
    std::uint64_t sleeps = 0;
    for (int attempt = 0; attempt < 1'000 && (looks < 10 || sleeps == 0); ++attempt) {
        Alarm alarm{Clock::steady(), 2ms};
        looks = 0;
        alarm.sleep(Tick{1}, Clock::steady().now() + 4ms, [&looks](Tick) {
            ++looks;
            return false;
        });
        sleeps = alarm.wakeUps();
    }
    EXPECT_GE(looks, 10);
    EXPECT_EQ(sleeps, 1U);
}

}  // namespace
}  // namespace timingwheel::detail
