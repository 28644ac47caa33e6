// What is due at once runs before newTimeout() returns, if a HashedWheelTimer is told so.

#include <support/DriverThreads.h>
#include <support/Handles.h>
#include <support/HashedWheel.h>
#include <support/Recorder.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

using HashedWheelImmediate = OfHashedWheel;

TEST(HashedWheelImmediateOnTheRealClock, IsMeasured) {
    HashedWheelTimer timer{HashedWheelTimerOptions{.immediateIfDue = true}};
    for (int i = 0; i < 5; ++i) timer.newTimeout([] {}, 0ms);
    EXPECT_EQ(timer.statistics().runs, 5U);
    EXPECT_EQ(timer.statistics().lateness.count(), 5U);
    EXPECT_TRUE(timer.stop().empty());
}

TEST_F(HashedWheelImmediate, RunsWhatIsDueBeforeNewTimeoutReturns) {
    HashedWheelTimer timer{options({.immediateIfDue = true})};
    for (Duration const delay :
         {Duration{0ms}, Duration{-1ns}, Duration{-1h}, Duration{nanoseconds::min()}}) {
        std::thread::id ranOn;
        auto const witness = std::make_shared<int>();
        Timeout const t = timer.newTimeout(
            [&, witness](Timeout const& self) {
                ranOn = std::this_thread::get_id();
                EXPECT_EQ(answersOf(self), kExpired);
                EXPECT_FALSE(self.isDone());
                EXPECT_FALSE(self.cancel());
                EXPECT_FALSE(self.cancelAndWait());
                EXPECT_EQ(self.timer(), &timer);
                EXPECT_EQ(timer.pendingTimeouts(), 0U);
            },
            delay);
        EXPECT_EQ(ranOn, std::this_thread::get_id());
        EXPECT_EQ(answersOf(t), kExpired);
        EXPECT_TRUE(t.isDone());
        EXPECT_FALSE(t.cancel());
        EXPECT_EQ(witness.use_count(), 1);
    }
    clock.advance(1s);
    TimerStatistics const s = timer.statistics();
    EXPECT_EQ(s.scheduled, 4U);
    EXPECT_EQ(s.fired, 4U);
    EXPECT_EQ(s.pending, 0U);
    EXPECT_TRUE(timer.stop().empty());
}

TEST_F(HashedWheelImmediate, WhatIsNotDueWaitsForItsTick) {
    HashedWheelTimer timer{options({.immediateIfDue = true})};
    int runs = 0;
    Timeout const t = timer.newTimeout([&] { ++runs; }, 1ns);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(answersOf(t), kPending);
    clock.advance(99ms);
    EXPECT_EQ(runs, 0);
    clock.advance(1ms);
    EXPECT_EQ(runs, 1);
}

TEST_F(HashedWheelImmediate, IsOffByDefault) {
    HashedWheelTimer timer{options()};
    int runs = 0;
    Timeout const t = timer.newTimeout([&] { ++runs; }, 0ms);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(answersOf(t), kPending);
    clock.advance(100ms);
    EXPECT_EQ(runs, 1);
}

TEST_F(HashedWheelImmediate, IsRefusedOnceTheTimerWasStopped) {
    HashedWheelTimer timer{options({.immediateIfDue = true})};
    auto const witness = std::make_shared<int>();
    timer.start();
    static_cast<void>(timer.stop());
    EXPECT_THROW(timer.newTimeout([witness] { FAIL(); }, 0ms), std::logic_error);
    EXPECT_EQ(witness.use_count(), 1);
    HashedWheelTimer neverStarted{options({.immediateIfDue = true})};
    static_cast<void>(neverStarted.stop());
    EXPECT_THROW(neverStarted.newTimeout([] { FAIL(); }, 0ms), std::logic_error);
}

TEST_F(HashedWheelImmediate, TellsWhatTheTaskThrowsAndReturns) {
    HashedWheelTimer timer{options({.immediateIfDue = true})};
    Timeout const t = timer.newTimeout([] { throw std::runtime_error{"out of tea"}; }, 0ms);
    EXPECT_TRUE(t.isDone());
    ASSERT_EQ(failures.count(), 1U);
    EXPECT_EQ(failures.entries()[0].what, "out of tea");
    EXPECT_EQ(failures.entries()[0].timeout, t);
}

TEST_F(HashedWheelImmediate, IsObservedWithoutABucket) {
    Recorder recorder;
    HashedWheelTimer timer{options({.immediateIfDue = true, .observer = &recorder})};
    timer.newTimeout([] {}, 0ms);
    std::vector<std::string> stages;
    for (TimerEvent const& event : recorder.events()) stages.emplace_back(toString(event.stage));
    EXPECT_EQ(stages, (std::vector<std::string>{"schedule", "intake", "expire", "run"}));
}

TEST_F(HashedWheelImmediate, TellsNobodyThatItWasCancelled) {
    HashedWheelTimer timer{options({.immediateIfDue = true})};
    auto const task = std::make_shared<ATask>();
    task->onRun = [&](Timeout const& self) { EXPECT_EQ(self.task(), task); };
    Timeout const t = timer.newTimeout(task, 0ms);
    EXPECT_EQ(task->runs, 1);
    EXPECT_EQ(task->last, t);
    EXPECT_EQ(t.task(), nullptr);
    clock.advance(100ms);
    static_cast<void>(timer.stop());
    EXPECT_EQ(task->cancels, 0);
}

TEST_F(HashedWheelImmediate, MayBeNested) {
    HashedWheelTimer timer{options({.immediateIfDue = true})};
    int depth = 0;
    int deepest = 0;
    std::function<void()> const down = [&] {
        deepest = std::max(deepest, ++depth);
        if (depth < 50) timer.newTimeout(down, 0ms);
        --depth;
    };
    timer.newTimeout(down, 0ms);
    EXPECT_EQ(deepest, 50);
    timer.newTimeout(down, 50ms);  // on the worker
    deepest = 0;
    clock.advance(100ms);
    EXPECT_EQ(deepest, 50);
    EXPECT_EQ(depth, 0);
}

TEST_F(HashedWheelImmediate, StopFromInsideOneThrows) {
    Watchdog const watchdog{"stop() from a task that runs at once"};
    HashedWheelTimer timer{options({.immediateIfDue = true})};
    int refused = 0;
    timer.newTimeout(
        [&] {
            EXPECT_THROW(static_cast<void>(timer.stop()), std::logic_error);
            ++refused;
        },
        0ms);
    EXPECT_EQ(refused, 1);
    EXPECT_TRUE(timer.stop().empty());
}

// After stop() nothing runs, on whatever thread.
TEST_F(HashedWheelImmediate, StopWaitsForOneThatRunsOnAnotherThread) {
    Watchdog const watchdog{"stop() while a task runs at once elsewhere"};
    HashedWheelTimer timer{options({.immediateIfDue = true})};
    Latch entered;
    Latch leave;
    std::atomic<bool> isOver{false};
    std::thread caller{[&] {
        timer.newTimeout(
            [&] {
                entered.open();
                leave.wait();
                isOver = true;
            },
            0ms);
    }};
    entered.wait();
    Timeout const far = timer.newTimeout([] {}, 1h);
    std::thread stopping{[&] {
        static_cast<void>(timer.stop());
        EXPECT_TRUE(isOver);
    }};
    waitUntilRefused(timer);
    EXPECT_FALSE(isOver);
    leave.open();
    caller.join();
    stopping.join();
    EXPECT_TRUE(far.isReturned());
}

TEST_F(HashedWheelImmediate, ATaskMayDestroyItsTimer) {
    auto timer = std::make_unique<HashedWheelTimer>(options({.immediateIfDue = true}));
    auto const witness = std::make_shared<int>();
    Timeout const far = timer->newTimeout([witness] { FAIL(); }, 1h);
    HashedWheelTimer& dying = *timer;
    Timeout const t = dying.newTimeout([&timer, witness] { timer.reset(); }, 0ms);
    EXPECT_TRUE(t.isDone());
    EXPECT_TRUE(far.isCancelled());
    EXPECT_EQ(witness.use_count(), 1);
}

TEST_F(HashedWheelImmediate, IsHandedToTheExecutorAtOnce) {
    HoldingExecutor executor;
    HashedWheelTimer timer{options({.executor = executor, .immediateIfDue = true})};
    int runs = 0;
    Timeout const ran = timer.newTimeout([&] { ++runs; }, 0ms);
    EXPECT_EQ(executor.size(), 1U);
    EXPECT_EQ(runs, 0);
    EXPECT_TRUE(ran.isExpired());
    EXPECT_FALSE(ran.isDone());
    EXPECT_FALSE(ran.cancel());
    executor.runAll();
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(ran.isDone());
    Timeout const takenBack = timer.newTimeout([&] { ++runs; }, 0ms);
    EXPECT_TRUE(takenBack.cancelAndWait());
    Timeout const returned = timer.newTimeout([&] { ++runs; }, -5ms);
    EXPECT_EQ(timer.stop().size(), 1U);
    EXPECT_TRUE(returned.isReturned());
    executor.runAll();
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(failures.count(), 0U);
}

TEST_F(HashedWheelImmediate, IsRejectedByAnExecutorThatIsFull) {
    struct Refusing {
        void execute(Claim) { throw RejectedExecution{"full"}; }
    } executor;
    HashedWheelTimer timer{options({.executor = executor, .immediateIfDue = true})};
    auto const witness = std::make_shared<int>();
    Timeout const t = timer.newTimeout([witness] { FAIL(); }, 0ms);
    EXPECT_EQ(answersOf(t), kRejected);
    EXPECT_EQ(witness.use_count(), 1);
    ASSERT_EQ(failures.count(TaskFailure::Kind::rejected), 1U);
    EXPECT_EQ(failures.entries()[0].timeout, t);
    EXPECT_EQ(timer.statistics().rejected, 1U);
}

TEST_F(HashedWheelImmediate, RunsInAPoolOfItsOwnWithoutWaitingForATick) {
    Watchdog const watchdog{"a task that is due at once in a pool"};
    HashedWheelTimer timer{options(
        {.taskPool = TaskPoolOptions{.threads = 1, .name = "at once"}, .immediateIfDue = true})};
    std::string ranOn;
    Latch done;
    Timeout const t = timer.newTimeout(
        [&] {
            ranOn = Inside::look().name;
            done.open();
        },
        0ms);
    done.wait();
    EXPECT_EQ(ranOn, "at once");
    EXPECT_FALSE(t.cancelAndWait());
    EXPECT_TRUE(t.isDone());
    EXPECT_EQ(now(), 0ns);
}

}  // namespace
}  // namespace timingwheel::test
