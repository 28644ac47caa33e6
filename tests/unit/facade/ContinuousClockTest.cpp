// The library's clock that counts suspension: what the system promises of it.

#include "TimerDescriptors.h"

#include <support/Platform.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <system_error>
#include <thread>

#if defined(__linux__)
#    include <ctime>
#endif

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

TEST(ContinuousClock, GoesOn) {
    Clock& clock = Clock::continuous();
    EXPECT_EQ(&clock, &Clock::continuous());
    EXPECT_EQ(clock.kind(), Clock::Kind::continuous);
    EXPECT_EQ(Clock::steady().kind(), Clock::Kind::steady);
    Clock::TimePoint const before = clock.now();
    std::this_thread::sleep_for(2ms);
    EXPECT_GE(clock.now() - before, 2ms);
    EXPECT_GT(before, Clock::TimePoint{});
}

TEST(ContinuousClock, DrivesTimers) {
    Watchdog const watchdog{"a timer under the continuous clock"};
    Clock& clock = Clock::continuous();
    SystemTimer timer{{.clock = clock}};
    for (int round = 0; round < 3; ++round) {
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
    // Something earlier wakes the thread, which sleeps until something later.
    Latch ran;
    timer.newTimeout([] {}, 1h);
    std::this_thread::sleep_for(1ms);
    timer.newTimeout([&] { ran.open(); }, 1ms);
    ran.wait();
}

#if defined(__linux__)

TEST(ContinuousClock, IsTheSystemsTimeSinceItStarted) {
    timespec time{};
    ASSERT_EQ(clock_gettime(CLOCK_BOOTTIME, &time), 0);
    auto const system = std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
    auto const shown = Clock::continuous().now().time_since_epoch();
    EXPECT_GE(shown, system);
    EXPECT_GE(Clock::continuous().now() - Clock::steady().now(), -1s) << "never behind the other";
}

// So the kernel wakes it at resume.
TEST(ContinuousClock, HasItsThreadsSleepByADescriptorThatCountsSuspension) {
    int const before = descriptorsOf(CLOCK_BOOTTIME);
    {
        SystemTimer const timer{{.clock = Clock::continuous()}};
        EXPECT_EQ(descriptorsOf(CLOCK_BOOTTIME), before + 1);
    }
    EXPECT_EQ(descriptorsOf(CLOCK_BOOTTIME), before) << "it is given back";
}

TEST(ContinuousClock, GivesALoopADescriptorThatCountsSuspension) {
    Watchdog const watchdog{"a loop under the continuous clock"};
    LoopTimer timer{{.clock = Clock::continuous()}};
    EXPECT_EQ(clockOf(timer.nativeHandle()), std::to_string(CLOCK_BOOTTIME));
    EXPECT_EQ(clockOf(LoopTimer{}.nativeHandle()), std::to_string(CLOCK_MONOTONIC));
    bool ran = false;
    timer.newTimeout([&] { ran = true; }, 2ms);
    while (!ran) {
        ASSERT_TRUE(isReadableWithin(timer.nativeHandle(), 60s));
        timer.runDue();
    }
    EXPECT_FALSE(isReadableWithin(timer.nativeHandle(), 0ms));
}

TEST(ContinuousClock, SaysThatTheSystemHasNoDescriptorLeft) {
    Clock& clock = Clock::continuous();
    {
        NoDescriptorLeft const scarcity;
        EXPECT_THROW(clock.makeWaiter(), std::system_error);
        EXPECT_THROW(SystemTimer({.clock = clock}), std::system_error);
    }
    SystemTimer const timer{{.clock = clock}};
}

#else

TEST(ContinuousClock, HasNoDescriptorForALoop) {
    EXPECT_THROW(LoopTimer({.clock = Clock::continuous()}), std::system_error);
}

#endif

}  // namespace
}  // namespace timingwheel::test
