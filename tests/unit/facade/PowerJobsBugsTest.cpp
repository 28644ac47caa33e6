// What PowerJob's variant of Netty's timer does wrong. (That it checks no argument is one of them:
// see HashedWheelOptionsTest.cpp.)

#include <support/HashedWheel.h>

#include <gtest/gtest.h>

#include <chrono>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

using PowerJobsBugs = OfHashedWheel;

// It measured by the wall clock. A steady clock does not go back; if one does, nothing is early,
// nothing is lost.
TEST_F(PowerJobsBugs, AStepOfTheClockMakesNothingEarlyAndLosesNothing) {
    HashedWheelTimer timer{options()};
    timer.start();
    int runs = 0;
    auto const task = [&runs] { ++runs; };
    timer.newTimeout(task, 1s);
    clock.advance(999ms);
    EXPECT_EQ(runs, 0);
    clock.jump(-10h);
    timer.newTimeout(task, 9h);
    timer.newTimeout(task, 0ms);
    clock.advance(9h - 1ms);
    EXPECT_LE(runs, 1);
    clock.advance(1h);
    EXPECT_LE(runs, 2);
    clock.advance(1s);
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    clock.jump(10h);
    Timeout const next = timer.newTimeout(task, 0ms);
    clock.advance(100ms);
    EXPECT_TRUE(next.isDone());
}

// A delay shorter than a tick waited for a whole turn of the wheel.
TEST_F(PowerJobsBugs, ADelayShorterThanATickRunsAtTheNextTick) {
    HashedWheelTimer timer{options({.ticksPerWheel = 64})};
    timer.start();
    for (nanoseconds const phase :
         {nanoseconds{0}, nanoseconds{1ms}, nanoseconds{50ms}, nanoseconds{99ms}}) {
        for (nanoseconds const delay : {nanoseconds{1}, nanoseconds{1ms}, nanoseconds{99ms}}) {
            clock.advance(phase);
            nanoseconds const due = tickAfter(now() + delay, 100ms);
            nanoseconds ranAt{0};
            timer.newTimeout([&] { ranAt = now(); }, delay);
            clock.advance(200ms);
            EXPECT_EQ(ranAt, due);
            clock.advance(tickAfter(now(), 100ms) - now());
        }
    }
}

// stop() used the pool that was not there.
TEST_F(PowerJobsBugs, StopWorksWithAndWithoutAPool) {
    for (bool const hasPool : {false, true}) {
        for (bool const isUsed : {false, true}) {
            HashedWheelTimerOptions with = options();
            if (hasPool) with.taskPool = TaskPoolOptions{.threads = 1};
            HashedWheelTimer timer{with};
            if (isUsed) timer.newTimeout([] {}, 1h);
            EXPECT_EQ(timer.stop().size(), isUsed ? 1U : 0U);
            EXPECT_TRUE(timer.stop().empty());
        }
    }
}

}  // namespace
}  // namespace timingwheel::test
