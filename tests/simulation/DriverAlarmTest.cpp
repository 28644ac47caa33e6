// A driver thread that sleeps, and callers that wake it: all that may happen to a real DriverAlarm.

#include "Trial.h"
#include "core/driver/context/DriverAlarm.h"
#include "core/driver/context/LoopDescriptor.h"
#include "core/driver/context/TimerClock.h"
#include "core/driver/lock/NextWake.h"
#include "core/timeout/TickScale.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

// Shows G2.

namespace timingwheel::test::simulation {
namespace {

/// A driver as TimerCore::drive() is one, and the next wake that it sleeps by.
struct SmallTimer {
    detail::TickScale scale{Clock::TimePoint{}, milliseconds{1}};
    detail::DriverAlarm alarm{TimerOptions{}, true, nullptr, scale};
    detail::NextWake nextWake;
    std::atomic<bool> isStopRequested{false};

    void driveUntil(std::int64_t wanted) {
        for (;;) {
            Tick const until = nextWake.get();
            if (until <= Tick{wanted} || isStopRequested.load()) return;
            alarm.sleep(until, Clock::TimePoint::max(), [this](Tick tick) {
                return nextWake.get() < tick || isStopRequested.load();
            });
        }
    }
    /// As a caller does it that schedules what is due at `tick`.
    void callBy(std::int64_t tick) {
        if (nextWake.lowerBesideOthers(Tick{tick})) alarm.ring(Tick{tick});
    }
};

TEST(DriverAlarmInterleavings, NoRingIsLost) {
    expectAll(
        "G2", "interleavings of a ring and a driver that falls asleep with the ring lost",
        [] {
            SmallTimer timer;
            std::thread driver{[&timer] { timer.driveUntil(5); }};
            timer.callBy(5);
            driver.join();
        },
        kAnyNumber);
}

TEST(DriverAlarmInterleavings, OfTwoRingsNoneIsLost) {
    expectAll(
        "G2", "interleavings of two rings and a driver that falls asleep with one lost",
        [] {
            SmallTimer timer;
            std::thread driver{[&timer] { timer.driveUntil(5); }};
            std::thread other{[&timer] { timer.callBy(7); }};
            timer.callBy(5);
            other.join();
            driver.join();
        },
        3);
}

/// A loop that says how long it stays away, as TimerCore::makePass() does it. On the heap, where
/// races are seen.
struct SmallLoop {
    detail::TickScale scale{Clock::TimePoint{}, milliseconds{1}};
    detail::TimerClock clock{Clock::steady(), detail::TimerClock::Reading::exact, {}};
    detail::LoopDescriptor descriptor{clock};
    detail::DriverAlarm alarm{TimerOptions{}, false, &descriptor, scale};
    detail::NextWake nextWake;

    void pass() {
        alarm.stayAwayUntil([this] { return nextWake.get(); });
    }
    void callBy(std::int64_t tick) {
        if (nextWake.lowerBesideOthers(Tick{tick})) alarm.ring(Tick{tick});
    }
    bool comesBy(std::int64_t tick) const { return descriptor.setTo() <= scale.timeOf(Tick{tick}); }
};

// G31
TEST(DriverAlarmInterleavings, ALoopThatGoesAwayMissesNoCall) {
    expectAll(
        "G31", "interleavings of a call and a loop that goes away with the call lost",
        [] {
            auto const loop = std::make_unique<SmallLoop>();
            std::thread caller{[&loop] { loop->callBy(5); }};
            loop->pass();
            caller.join();
            require(loop->comesBy(5), "the loop oversleeps");
        },
        4);
}

// G31
TEST(DriverAlarmInterleavings, ALoopThatGoesAwayMissesNoneOfTwoCalls) {
    expectAll(
        "G31", "interleavings of two calls and a loop that goes away with one lost",
        [] {
            auto const loop = std::make_unique<SmallLoop>();
            std::thread other{[&loop] { loop->callBy(7); }};
            std::thread caller{[&loop] { loop->callBy(5); }};
            loop->pass();
            other.join();
            caller.join();
            require(loop->comesBy(5), "the loop oversleeps");
            loop->nextWake.set(Tick{7});
            loop->pass();
            require(loop->comesBy(7), "the loop oversleeps the second");
        },
        3);
}

TEST(DriverAlarmInterleavings, StopIsNotMissed) {
    expectAll(
        "G10", "interleavings of stop() and a driver that falls asleep that miss it",
        [] {
            SmallTimer timer;
            std::thread driver{[&timer] { timer.driveUntil(5); }};
            timer.isStopRequested.store(true);
            timer.alarm.wake();
            driver.join();
        },
        kAnyNumber);
}

}  // namespace
}  // namespace timingwheel::test::simulation
