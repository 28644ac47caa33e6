// Those who drive a timer, a thread that sleeps or a loop that is told, and whoever calls them: all
// that may happen to the real Alarm.

#include "Trial.h"
#include "context/Alarm.h"
#include "driver/NextWake.h"
#include "timeout/TickScale.h"

#include <timingwheel/TimerLoop.h>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

/// As a caller does it that schedules what is due at `tick`.
void callBy(std::int64_t tick, detail::NextWake& nextWake, detail::Alarm& alarm) {
    if (nextWake.lowerBesideOthers(Tick{tick})) alarm.ring(Tick{tick});
}

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
    void callBy(std::int64_t tick) { simulation::callBy(tick, nextWake, alarm); }
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

/// A loop that asks, and then waits as it was answered or told.
class Loop final : public TimerLoop {
public:
    void onEarlier(TimePoint) noexcept override { waiter_->wake(); }

    void driveUntil(std::int64_t wanted) {
        for (;;) {
            alarm_.rise();
            alarm_.stayAwayUntil([this] { return nextWake_.get(); });
            if (nextWake_.get() <= Tick{wanted}) return;
            waiter_->waitUntil(TimePoint::max());
        }
    }
    void callBy(std::int64_t tick) { simulation::callBy(tick, nextWake_, alarm_); }

private:
    std::unique_ptr<Clock::Waiter> const waiter_ = Clock::steady().makeWaiter();
    detail::TickScale const scale_{TimePoint{}, milliseconds{1}};
    detail::Alarm alarm_{TimerOptions{}, false, this, scale_};
    detail::NextWake nextWake_;
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
