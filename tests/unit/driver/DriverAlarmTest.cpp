#include "core/driver/context/DriverAlarm.h"

#include <support/Waiters.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace timingwheel::detail {
namespace {

using namespace std::chrono_literals;

TickScale const kMilliseconds{Clock::TimePoint{}, 1ms};

class DriverAlarmTest : public testing::Test {
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

    test::WakefulClock clock_;
    DriverAlarm alarm_{{.clock = clock_}, true, nullptr, kMilliseconds};
};

// G22. Bug pattern: each schedule for the tick at which the driver wakes anyway wakes it.
TEST_F(DriverAlarmTest, IsRungOnlyByWhatIsEarlier) {
    EXPECT_TRUE(sleepsThrough(Tick{10}, Tick{11}));
    EXPECT_TRUE(sleepsThrough(Tick{10}, Tick{10}));
    EXPECT_FALSE(sleepsThrough(Tick{10}, Tick{9}));
    EXPECT_TRUE(sleepsThrough(Tick{10}, Tick{10}));
    EXPECT_EQ(alarm_.wakeUps(), 3U);
}

// G22
TEST_F(DriverAlarmTest, IsRungOnceForOneExpiration) {
    alarm_.sleep(Tick{10}, Clock::TimePoint::max(), [&](Tick) {
        alarm_.ring(Tick{5});
        return false;
    });
    EXPECT_EQ(clock_.waits, 0);
    // Awake it is not rung at all.
    alarm_.ring(Tick{1});
    EXPECT_TRUE(sleepsThrough(Tick{10}, Tick{10}));
}

/// A descriptor in milliseconds, and the alarm that sets it.
struct LoopAlarm {
    TimerClock clock{Clock::steady(), TimerClock::Reading::exact, 0ns};
    LoopDescriptor descriptor{clock};
    DriverAlarm alarm{{}, false, &descriptor, kMilliseconds};
};

// G22: the same for a loop.
TEST_F(DriverAlarmTest, SetsALoopsDescriptorOnlyForWhatIsEarlierThanItKnows) {
    LoopAlarm loop;
    loop.alarm.ring(Tick{9});
    EXPECT_EQ(loop.descriptor.setTo(), Clock::TimePoint{9ms});
    loop.alarm.ring(Tick{8});
    EXPECT_EQ(loop.descriptor.setTo(), Clock::TimePoint{8ms});
    loop.alarm.stayAwayUntil([] { return Tick{5}; });
    EXPECT_EQ(loop.descriptor.setTo(), Clock::TimePoint{5ms});
    loop.alarm.ring(Tick{5});
    EXPECT_EQ(loop.descriptor.setTo(), Clock::TimePoint{5ms}) << "the loop comes by then";
    loop.alarm.ring(Tick{4});
    EXPECT_EQ(loop.descriptor.setTo(), Clock::TimePoint{4ms});
}

// G22
// Bug pattern: what is scheduled between the loop's look at the wheel and its answer is overslept.
TEST_F(DriverAlarmTest, LetsALoopStayAwayOnlyUntilWhatItLookedAtLast) {
    LoopAlarm loop;
    Tick nextWake{9};
    loop.alarm.stayAwayUntil([&nextWake] { return std::exchange(nextWake, Tick{7}); });
    loop.alarm.ring(Tick{8});
    EXPECT_EQ(loop.descriptor.setTo(), Clock::TimePoint{7ms});
    loop.alarm.ring(Tick{6});
    EXPECT_EQ(loop.descriptor.setTo(), Clock::TimePoint{6ms});
}

// G22
TEST_F(DriverAlarmTest, WithoutALoopNobodyIsCalled) {
    DriverAlarm alarm{{}, false, nullptr, kMilliseconds};
    alarm.ring(Tick{1});
    alarm.wake();
    EXPECT_EQ(alarm.wakeUps(), 0U);
}

// It wakes before the time, and looks again and again until that has come. A machine that is busy
// may wake it too late for that; it may take several attempts.
TEST(SpinningDriverAlarm, IsAwakeBeforeItsTime) {
    int looks = 0;
    std::uint64_t sleeps = 0;
    for (int attempt = 0; attempt < 1'000 && (looks < 10 || sleeps == 0); ++attempt) {
        DriverAlarm alarm{{.spin = 2ms}, true, nullptr, kMilliseconds};
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
