// How drivers sleep under a clock: what Clock::Waiter promises, of each clock of the library.

#include <support/Effort.h>
#include <support/TestTimers.h>
#include <support/Threads.h>
#include <timingwheel/HashedWheelTimer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

enum class Which { steady, continuous, wall, manual };

std::string nameOf(Which clock) {
    if (clock == Which::manual) return "manual";
    if (clock == Which::wall) return "wall";
    return clock == Which::steady ? "steady" : "continuous";
}

class ClockWaiter : public testing::TestWithParam<Which> {
protected:
    Clock& clock() {
        if (GetParam() == Which::manual) return manual_;
        if (GetParam() == Which::wall) return Clock::wall();
        return GetParam() == Which::steady ? Clock::steady() : Clock::continuous();
    }

    Watchdog const watchdog_{"a waiter"};
    ManualClock manual_;
};
INSTANTIATE_TEST_SUITE_P(OfEachClock, ClockWaiter,
                         testing::Values(Which::steady, Which::continuous, Which::wall,
                                         Which::manual),
                         [](auto const& test) { return nameOf(test.param); });

// Bug pattern: who wakes a thread that does not sleep yet wakes nobody.
TEST_P(ClockWaiter, AWakeThatComesFirstIsNotLost) {
    auto const waiter = clock().makeWaiter();
    waiter->wake();
    waiter->waitUntil(Clock::TimePoint::max());
}

TEST_P(ClockWaiter, IsWokenByAnotherThread) {
    auto const waiter = clock().makeWaiter();
    for (int round = 0; round < 100; ++round) {
        std::thread other{[&waiter] { waiter->wake(); }};
        waiter->waitUntil(Clock::TimePoint::max());
        other.join();
    }
}

// Bug pattern: wakes are counted, and a waiter that was woken often spins.
TEST_P(ClockWaiter, SeveralWakesEndOneWait) {
    auto const waiter = clock().makeWaiter();
    for (int i = 0; i < 3; ++i) waiter->wake();
    waiter->waitUntil(Clock::TimePoint::max());
    std::atomic<bool> isWoken{false};
    std::thread other{[&] {
        std::this_thread::sleep_for(1ms);
        isWoken = true;
        waiter->wake();
    }};
    while (!isWoken) waiter->waitUntil(Clock::TimePoint::max());  // it may return early
    other.join();
}

TEST_P(ClockWaiter, MayOutliveItsClock) {
    std::unique_ptr<Clock::Waiter> waiter;
    {
        ManualClock brief;
        waiter = (GetParam() == Which::manual ? brief : clock()).makeWaiter();
    }
    waiter->wake();
}

TEST(ClockWaiters, ReturnWhenTheirTimeHasCome) {
    Watchdog const watchdog{"waiters of clocks that go by themselves"};
    for (Clock* const clock : {&Clock::steady(), &Clock::continuous(), &Clock::wall()}) {
        auto const waiter = clock->makeWaiter();
        Clock::TimePoint const start = clock->now();
        waiter->waitUntil(start - 1h);
        waiter->waitUntil(Clock::TimePoint::min());
        Clock::TimePoint const until = start + 5ms;
        while (clock->now() < until) waiter->waitUntil(until);
    }
}

/// Counts the waiters that it makes, or fails to.
class ClockThatMayFail final : public Clock {
public:
    TimePoint now() const noexcept override { return TimePoint{}; }
    std::unique_ptr<Waiter> makeWaiter() override {
        if (isScarce) throw std::bad_alloc{};
        if (isUnable) return nullptr;
        ++made;
        return waiterUntilWoken();
    }
    bool isScarce = false;
    bool isUnable = false;
    int made = 0;
};

TEST(ClockWaiters, ATimerHasOneIfItHasAThread) {
    ClockThatMayFail clock;
    { SystemTimer const timer{{.clock = clock}}; }
    EXPECT_EQ(clock.made, 1);
    { ManualTimer const timer{{.clock = clock}}; }
    EXPECT_EQ(clock.made, 1);
}

TEST(ClockWaiters, AClockThatMakesNoneRefusesTheTimer) {
    ClockThatMayFail clock;
    clock.isUnable = true;
    EXPECT_THROW(SystemTimer({.clock = clock}), std::invalid_argument);
    EXPECT_THROW(HashedWheelTimer({.clock = clock}), std::invalid_argument);
    ManualTimer const timer{{.clock = clock}};
}

// G16
TEST(ClockWaiters, AClockThatCannotMakeOneRefusesTheTimer) {
    ClockThatMayFail clock;
    clock.isScarce = true;
    EXPECT_THROW(SystemTimer({.clock = clock}), std::bad_alloc);
    ManualTimer timer{{.clock = clock}};
    timer.newTimeout([] {}, 0ms);
    EXPECT_FALSE(timer.advanceTo(clock.now()));
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

/// Whatever its time is, drivers sleep by the steady clock.
class ShiftedClock final : public Clock {
public:
    TimePoint now() const noexcept override { return steady().now() + kShift; }
    std::unique_ptr<Waiter> makeWaiter() override {
        return waiterThat([](Waiter& inner, TimePoint until) {
            inner.waitUntil(until == TimePoint::max() ? until : until - kShift);
        });
    }

private:
    static constexpr auto kShift = 24h;
};

TEST(ClockWaiters, AUsersClockMayBuildOnOneOfTheSteadyClock) {
    Watchdog const watchdog{"a timer under a shifted clock"};
    ShiftedClock clock;
    SystemTimer timer{{.clock = clock}};
    Latch ran;
    Clock::TimePoint const deadline = clock.now() + 3ms;
    bool isEarly = true;
    timer.newTimeout(
        [&] {
            isEarly = clock.now() < deadline;
            ran.open();
        },
        deadline);
    ran.wait();
    EXPECT_FALSE(isEarly);
}

}  // namespace
}  // namespace timingwheel::test
