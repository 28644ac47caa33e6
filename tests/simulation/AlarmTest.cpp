// Those who drive a timer, a thread that sleeps or a loop that is told, and whoever calls them: all
// that may happen to the real Alarm.

#include "Trial.h"
#include "context/Alarm.h"
#include "timeout/TickScale.h"

#include <timingwheel/TimerLoop.h>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

/// What a timer publishes for its driver: the tick at which that is next wanted.
class Key {
public:
    Tick get() const { return Tick{tick_.load()}; }

    /// As NextWake::lowerBesideOthers() does it, without a lock.
    void callBy(std::int64_t tick, detail::Alarm& alarm) {
        std::int64_t seen = tick_.load();
        while (tick < seen)
            if (tick_.compare_exchange_weak(seen, tick)) return alarm.ring(Tick{tick});
    }

private:
    std::atomic<std::int64_t> tick_{Tick::kMax};
};

/// A driver as TimerCore::drive() is one, and the key that it sleeps by.
struct Bed {
    detail::TickScale scale{Clock::TimePoint{}, milliseconds{1}};
    detail::Alarm alarm{TimerOptions{}, true, scale};
    Key key;
    std::atomic<bool> isStopRequested{false};

    void driveUntil(std::int64_t wanted) {
        for (;;) {
            Tick const until = key.get();
            if (until <= Tick{wanted} || isStopRequested.load()) return;
            alarm.sleep(until, Clock::TimePoint::max(),
                        [this](Tick tick) { return key.get() < tick || isStopRequested.load(); });
        }
    }
    void callBy(std::int64_t tick) { key.callBy(tick, alarm); }
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

/// A loop that asks, and then waits as it was answered or told.
class Loop final : public TimerLoop {
public:
    void onEarlier(TimePoint) noexcept override { bed_->wake(); }

    void driveUntil(std::int64_t wanted) {
        for (;;) {
            alarm_.rise();
            alarm_.stayAwayUntil([this] { return key_.get(); });
            if (key_.get() <= Tick{wanted}) return;
            bed_->waitUntil(TimePoint::max());
        }
    }
    void callBy(std::int64_t tick) { key_.callBy(tick, alarm_); }

private:
    std::unique_ptr<Clock::Waiter> const bed_ = Clock::steady().makeWaiter();
    detail::TickScale const scale_{TimePoint{}, milliseconds{1}};
    detail::Alarm alarm_{TimerOptions{.loop = this}, false, scale_};
    Key key_;
};

TEST(AlarmInterleavings, ALoopIsToldOfWhatIsEarlierThanItsAnswer) {
    expectAll(
        "G26", "interleavings of a ring and a loop that asks with the loop not told",
        [] {
            Loop loop;
            std::thread driver{[&loop] { loop.driveUntil(5); }};
            loop.callBy(5);
            driver.join();
        },
        kAnyNumber);
}

TEST(AlarmInterleavings, ALoopIsToldOfTheEarlierOfTwo) {
    expectAll(
        "G26", "interleavings of two rings and a loop that asks with the loop not told",
        [] {
            Loop loop;
            std::thread driver{[&loop] { loop.driveUntil(5); }};
            std::thread other{[&loop] { loop.callBy(7); }};
            loop.callBy(5);
            other.join();
            driver.join();
        },
        departures() + 1);
}

}  // namespace
}  // namespace timingwheel::test::simulation
