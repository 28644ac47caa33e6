// Tasks of a HashedWheelTimer: what they throw, and what they do to their timer.

#include <support/Handles.h>
#include <support/HashedWheel.h>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

// Shows G7, G8.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

using HashedWheelRun = OfHashedWheel;

TEST_F(HashedWheelRun, ATimeoutExpiresBeforeItsTaskRuns) {
    HashedWheelTimer timer{options()};
    auto const task = std::make_shared<ATask>();
    bool wasAsked = false;
    task->onRun = [&](Timeout const& self) {
        wasAsked = true;
        EXPECT_EQ(answersOf(self), kExpired);
        EXPECT_FALSE(self.cancel());
        EXPECT_FALSE(self.cancelAndWait());
        EXPECT_FALSE(self.isDone());
        EXPECT_EQ(self.task(), task);
        EXPECT_EQ(self.timer(), &timer);
        EXPECT_EQ(printed(self), "timeout(running)");
        EXPECT_EQ(timer.pendingTimeouts(), 0U);  // it does not count any more
    };
    Timeout const t = timer.newTimeout(task, 150ms);
    EXPECT_EQ(answersOf(t), kPending);
    EXPECT_EQ(t.task(), task);
    EXPECT_FALSE(t.isDone());
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    clock.advance(100ms);
    EXPECT_EQ(answersOf(t), kPending);
    EXPECT_EQ(t.task(), task);
    clock.advance(100ms);
    EXPECT_TRUE(wasAsked);
    EXPECT_EQ(answersOf(t), kExpired);
    EXPECT_TRUE(t.isDone());
    EXPECT_FALSE(t.cancel());
    EXPECT_EQ(t.task(), nullptr);
    EXPECT_EQ(printed(t), "timeout(expired)");
    EXPECT_EQ(task->runs, 1);
    clock.advance(1s);
    EXPECT_EQ(task->cancels, 0);
    EXPECT_EQ(task->runs, 1);
}

// Each leaves the count before it runs, and those behind it stay in it until their turn.
TEST_F(HashedWheelRun, TheCountOfPendingDropsOneByOne) {
    HashedWheelTimer timer{options()};
    std::vector<std::size_t> counts;
    for (int i = 0; i < 5; ++i)
        timer.newTimeout([&] { counts.push_back(timer.pendingTimeouts()); }, 50ms);
    timer.newTimeout([] {}, 1h);
    clock.advance(100ms);
    EXPECT_EQ(counts, (std::vector<std::size_t>{5, 4, 3, 2, 1}));
}

TEST_F(HashedWheelRun, ACaptureGoesWhenItsTaskHasRun) {
    HashedWheelTimer timer{options()};
    auto const witness = std::make_shared<int>();
    Timeout const t = timer.newTimeout([witness] {}, 50ms);
    EXPECT_EQ(witness.use_count(), 2);
    clock.advance(100ms);
    EXPECT_TRUE(t.isExpired());
    EXPECT_EQ(witness.use_count(), 1);
}

TEST_F(HashedWheelRun, WhatATaskThrowsIsReportedAndTheWorkerGoesOn) {
    HashedWheelTimer timer{options({.name = "tea"})};
    int runs = 0;
    Timeout const first = timer.newTimeout(
        [&] {
            ++runs;
            throw std::runtime_error{"out of tea"};
        },
        50ms);
    timer.newTimeout(
        [&] {
            ++runs;
            throw 7;
        },
        50ms);
    timer.newTimeout([&] { ++runs; }, 50ms);
    timer.newTimeout([&] { ++runs; }, 150ms);
    clock.advance(200ms);
    EXPECT_EQ(runs, 4);
    auto const entries = failures.entries();
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].kind, TaskFailure::Kind::threw);
    EXPECT_EQ(entries[0].what, "out of tea");
    EXPECT_EQ(entries[0].timeout, first);
    EXPECT_EQ(entries[0].timerName, "tea");
    EXPECT_EQ(entries[1].what, "int 7");
    EXPECT_EQ(answersOf(first), kExpired);
    EXPECT_TRUE(first.isDone());
    EXPECT_EQ(log.count(), 0U);
}

TEST_F(HashedWheelRun, SurvivesAnErrorHandlerThatThrows) {
    testing::internal::CaptureStderr();
    int runs = 0;
    {
        HashedWheelTimer timer{options({.errorHandler = [](TaskFailure const&) { throw 1; }})};
        for (int i = 0; i < 3; ++i)
            timer.newTimeout(
                [&] {
                    ++runs;
                    throw 2;
                },
                50ms);
        clock.advance(100ms);
        timer.newTimeout([&] { ++runs; }, 50ms);
        clock.advance(100ms);
    }
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(runs, 4);
}

TEST_F(HashedWheelRun, ATaskMayDestroyItsTimer) {
    auto timer = std::make_unique<HashedWheelTimer>(options());
    auto const witness = std::make_shared<int>();
    int runs = 0;
    Timeout const sibling = timer->newTimeout([] { FAIL() << "the timer is gone"; }, 60ms);
    Timeout const far = timer->newTimeout([witness] { FAIL() << "the timer is gone"; }, 1h);
    Timeout const self = timer->newTimeout(
        [&, witness] {
            ++runs;
            timer.reset();
            EXPECT_TRUE(far.isCancelled());
            EXPECT_EQ(far.timer(), nullptr);
        },
        10ms);
    EXPECT_TRUE(sibling.cancel());
    clock.advance(100ms);
    clock.advance(1s);
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(self.isExpired());
    EXPECT_TRUE(self.isDone());
    EXPECT_EQ(witness.use_count(), 1);
}

// Bug pattern: the next pointer is read after the entry was freed by the task it ran.
TEST_F(HashedWheelRun, WhatIsDueInTheSameTickAsATaskThatDestroysTheTimerDoesNotRun) {
    auto timer = std::make_unique<HashedWheelTimer>(options());
    int runs = 0;
    for (int i = 0; i < 10; ++i)
        timer->newTimeout(
            [&] {
                ++runs;
                timer.reset();
            },
            50ms);
    clock.advance(100ms);
    clock.advance(100ms);
    EXPECT_EQ(runs, 1);
}

TEST_F(HashedWheelRun, ATaskOnAnExecutorMayDestroyItsTimer) {
    Watchdog const watchdog{"a task on an executor that destroys its timer"};
    ThreadExecutor executor;
    auto timer = std::make_unique<HashedWheelTimer>(options({.executor = executor}));
    Latch done;
    Timeout const other = timer->newTimeout([] {}, 1h);
    timer->newTimeout(
        [&] {
            timer.reset();
            done.open();
        },
        50ms);
    clock.advance(100ms);
    done.wait();
    EXPECT_TRUE(other.isCancelled());
}

}  // namespace
}  // namespace timingwheel::test
