// A driver thread that sleeps, and callers that wake it: all that may happen to the real Alarm.

#include "Trial.h"
#include "context/Alarm.h"
#include "driver/NextWake.h"
#include "timeout/TickScale.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

// Shows G2.

namespace timingwheel::test::simulation {
namespace {

/// A driver as TimerCore::drive() is one, and the next wake that it sleeps by.
struct SmallTimer {
    detail::TickScale scale{Clock::TimePoint{}, milliseconds{1}};
    detail::Alarm alarm{TimerOptions{}, true, nullptr, scale};
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

TEST(AlarmInterleavings, NoRingIsLost) {
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

TEST(AlarmInterleavings, OfTwoRingsNoneIsLost) {
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
        departures() + 1);
}

TEST(AlarmInterleavings, StopIsNotMissed) {
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
