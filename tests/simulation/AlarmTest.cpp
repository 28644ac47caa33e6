// The driver's bed, and whoever wakes it: all that may happen to the real Alarm.

#include "Trial.h"
#include "context/Alarm.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

/// A driver as TimerCore::drive() is one, and the key that it sleeps by.
struct Bed {
    detail::Alarm alarm{Clock::steady(), std::chrono::nanoseconds{0}};
    std::atomic<std::int64_t> key{Tick::kMax};
    std::atomic<bool> isStopRequested{false};

    void driveUntil(std::int64_t wanted) {
        for (;;) {
            std::int64_t const until = key.load();
            if (until <= wanted || isStopRequested.load()) return;
            alarm.sleep(Tick{until}, Clock::TimePoint::max(), [this](Tick tick) {
                return key.load() < tick.value() || isStopRequested.load();
            });
        }
    }
    /// As TimeoutKeeper::callBy() does it, without a lock.
    void callBy(std::int64_t tick) {
        std::int64_t seen = key.load();
        while (tick < seen)
            if (key.compare_exchange_weak(seen, tick)) return alarm.ring(Tick{tick});
    }
};

TEST(AlarmInterleavings, NoRingIsLost) {
    expectAll(
        "G2", "interleavings of a ring and a driver that falls asleep with the ring lost",
        [] {
            Bed bed;
            std::thread driver{[&bed] { bed.driveUntil(5); }};
            bed.callBy(5);
            driver.join();
        },
        kAnyNumber);
}

TEST(AlarmInterleavings, OfTwoRingsNoneIsLost) {
    expectAll(
        "G2", "interleavings of two rings and a driver that falls asleep with one lost",
        [] {
            Bed bed;
            std::thread driver{[&bed] { bed.driveUntil(5); }};
            std::thread other{[&bed] { bed.callBy(7); }};
            bed.callBy(5);
            other.join();
            driver.join();
        },
        departures() + 1);
}

TEST(AlarmInterleavings, StopIsNotMissed) {
    expectAll(
        "G10", "interleavings of stop() and a driver that falls asleep that miss it",
        [] {
            Bed bed;
            std::thread driver{[&bed] { bed.driveUntil(5); }};
            bed.isStopRequested.store(true);
            bed.alarm.wake();
            driver.join();
        },
        kAnyNumber);
}

}  // namespace
}  // namespace timingwheel::test::simulation
