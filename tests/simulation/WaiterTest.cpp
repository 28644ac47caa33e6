// A thread that sleeps under a clock, and those who wake it.

#include "Trial.h"

#include <timingwheel/ManualClock.h>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

TEST(WaiterInterleavings, NoWakeIsLost) {
    ManualClock manual;
    for (Clock* const clock : {static_cast<Clock*>(&manual), &Clock::steady()})
        expectAll(
            "G2", "interleavings of a wake and a thread that falls asleep with the wake lost",
            [clock] {
                auto const waiter = clock->makeWaiter();
                std::atomic<bool> isWanted{false};
                std::thread sleeper{[&] {
                    while (!isWanted.load()) waiter->waitUntil(Clock::TimePoint::max());
                }};
                isWanted.store(true);
                waiter->wake();
                sleeper.join();
            },
            kAnyNumber);
}

TEST(WaiterInterleavings, OfTwoWakesTheLaterIsNotLost) {
    expectAll(
        "G2", "interleavings of two wakes and a thread that falls asleep with one lost",
        [] {
            auto const waiter = Clock::steady().makeWaiter();
            std::atomic<int> wanted{0};
            std::thread sleeper{[&] {
                while (wanted.load() < 2) waiter->waitUntil(Clock::TimePoint::max());
            }};
            std::thread other{[&] {
                wanted.fetch_add(1);
                waiter->wake();
            }};
            wanted.fetch_add(1);
            waiter->wake();
            other.join();
            sleeper.join();
        },
        departures() + 1);
}

}  // namespace
}  // namespace timingwheel::test::simulation
