// What HashedWheelTimer has from PowerJob's variant: a pool of its own, tasks that are due and run
// at once, isDone(); and the bugs of that variant, which must not come back. (That it checks no
// argument is one of them: see HashedWheelOptionsTest.cpp.)

#include <support/DriverThreads.h>
#include <support/Handles.h>
#include <support/HashedWheel.h>
#include <support/Recorder.h>
#include <support/ThreadStatus.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// ---- a pool of its own -------------------------------------------------------------------------

using HashedWheelPool = OfHashedWheel;

TEST_F(HashedWheelPool, RunsTheTasksOnItsThreads) {
    std::mutex mutex;
    std::set<std::string> names;
    std::set<std::thread::id> threads;
    std::atomic<int> runs{0};
    HashedWheelTimer timer{
        options({.name = "timer", .taskPool = TaskPoolOptions{.threads = 2, .name = "its pool"}})};
    std::vector<Timeout> timeouts;
    for (int i = 0; i < 200; ++i)
        timeouts.push_back(timer.newTimeout(
            [&] {
                std::lock_guard const lock{mutex};
                names.insert(Inside::look().name);
                threads.insert(std::this_thread::get_id());
                ++runs;
            },
            i * 5ms));
    clock.advance(1100ms);  // waits for the pool
    EXPECT_EQ(runs, 200);
    EXPECT_EQ(names, (std::set<std::string>{"its pool"}));
    EXPECT_LE(threads.size(), 2U);
    EXPECT_EQ(threads.count(std::this_thread::get_id()), 0U);
    for (Timeout const& t : timeouts) EXPECT_TRUE(t.isDone());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_TRUE(timer.stop().empty());
}

TEST_F(HashedWheelPool, EndsWithTheTimer) {
    Watchdog const watchdog{"threads of a pool that ends"};
    for (bool const isStopped : {false, true}) {
        auto timer = std::make_unique<HashedWheelTimer>(
            options({.taskPool = TaskPoolOptions{.threads = 2, .name = "pool that ends"}}));
        Timeout const t = timer->newTimeout([] {}, 50ms);
        clock.advance(100ms);
        EXPECT_TRUE(t.isDone());
        EXPECT_NE(findThread("pool that ends"), 0);
        if (isStopped) static_cast<void>(timer->stop());
        timer.reset();
        waitUntil([] { return findThread("pool that ends") == 0; });
    }
}

TEST_F(HashedWheelPool, NamesWhatIsWrongWithItsOptions) {
    expectThrows<std::invalid_argument>(
        [&] { HashedWheelTimer{options({.taskPool = TaskPoolOptions{.queueCapacity = 0}})}; },
        "queueCapacity is 0");
    expectThrows<std::invalid_argument>(
        [&] { HashedWheelTimer{options({.taskPool = TaskPoolOptions{.threads = 100'000}})}; },
        "threads is 100000");
    EXPECT_EQ(log.count(), 0U);
}

// PowerJob's bug: what a task throws is lost in the pool.
TEST_F(HashedWheelPool, WhatATaskThrowsIsTold) {
    HashedWheelTimer timer{options({.taskPool = TaskPoolOptions{.threads = 1}})};
    Timeout const t = timer.newTimeout([] { throw std::runtime_error{"out of tea"}; }, 50ms);
    Timeout const next = timer.newTimeout([] {}, 50ms);
    clock.advance(100ms);
    ASSERT_EQ(failures.count(), 1U);
    EXPECT_EQ(failures.entries()[0].kind, TaskFailure::Kind::threw);
    EXPECT_EQ(failures.entries()[0].what, "out of tea");
    EXPECT_EQ(failures.entries()[0].timeout, t);
    EXPECT_TRUE(t.isDone());
    EXPECT_TRUE(next.isDone());
}

TEST_F(HashedWheelPool, ATaskMayUseItsTimerButNotStopIt) {
    Watchdog const watchdog{"a task in the pool that uses its timer"};
    HashedWheelTimer timer{options({.taskPool = TaskPoolOptions{.threads = 1}})};
    int refused = 0;
    Timeout more;
    timer.newTimeout(
        [&](Timeout const& self) {
            EXPECT_FALSE(self.cancelAndWait());
            EXPECT_FALSE(self.isDone());
            more = timer.newTimeout([] {}, 0ms);
            EXPECT_THROW(static_cast<void>(timer.stop()), std::logic_error);
            ++refused;
        },
        50ms);
    clock.advance(100ms);
    EXPECT_EQ(refused, 1);
    clock.advance(100ms);
    EXPECT_TRUE(more.isDone());
}

TEST_F(HashedWheelPool, ATaskMayDestroyItsTimer) {
    Watchdog const watchdog{"a task in the pool that destroys its timer"};
    auto timer = std::make_unique<HashedWheelTimer>(
        options({.taskPool = TaskPoolOptions{.threads = 2, .name = "pool destroyed"}}));
    auto const witness = std::make_shared<int>();
    Timeout const far = timer->newTimeout([witness] { FAIL(); }, 1h);
    Latch done;
    Timeout const self = timer->newTimeout(
        [&, witness] {
            timer.reset();
            done.open();
        },
        50ms);
    clock.advance(100ms);
    done.wait();
    waitUntil([&] { return witness.use_count() == 1; });
    EXPECT_TRUE(far.isCancelled());
    EXPECT_TRUE(self.isExpired());
    waitUntil([] { return findThread("pool destroyed") == 0; });
}

// PowerJob's bug: a cancel that says it won, and the task runs all the same.
TEST_F(HashedWheelPool, ACancelThatWonIsNeverFollowedByARun) {
    Watchdog const watchdog{"cancel against a pool"};
    std::size_t const count = scaled(10'000);
    HashedWheelTimer timer{
        options({.tick = 1ms, .ticksPerWheel = 8, .taskPool = TaskPoolOptions{.threads = 2}})};
    std::vector<std::atomic<int>> outcomes(count);
    std::vector<Timeout> timeouts;
    for (std::size_t i = 0; i < count; ++i)
        timeouts.push_back(timer.newTimeout([&outcomes, i] { ++outcomes[i]; },
                                            static_cast<std::int64_t>(i % 50) * 1ms));
    together(3, [&](std::size_t thread) {
        if (thread == 0) return clock.advance(51ms);
        for (std::size_t i = count; i-- > 0;)
            if (thread == 1 ? timeouts[i].cancel() : timeouts[i].cancelAndWait()) ++outcomes[i];
    });
    for (auto const& outcome : outcomes) ASSERT_EQ(outcome, 1);
    clock.advance(1ms);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

/// A timer with ticks of 10 ms, one thread in its pool, and room for one task that waits.
class HashedWheelFullPool : public OfHashedWheelUnderASettableClock {
protected:
    /// Makes the timer, and keeps its pool's thread busy.
    void occupy(WhenFull whenFull) {
        timer = std::make_unique<HashedWheelTimer>(options({
            .tick = 10ms,
            .name = "the worker",
            .taskPool = TaskPoolOptions{.threads = 1, .queueCapacity = 1, .whenFull = whenFull},
        }));
        timer->start();
        timer->newTimeout(
            [this] {
                entered.open();
                leave.wait();
            },
            5ms);
        clock.add(10ms);
        entered.wait();
    }
    void TearDown() override { leave.open(); }

    Watchdog watchdog{"a pool that is full"};
    Latch entered;
    Latch leave;
    std::mutex mutex;
    std::vector<std::string> ranOn;
    std::unique_ptr<HashedWheelTimer> timer;

    /// Notes the name of the thread it runs on.
    auto task() {
        return [this] {
            std::lock_guard const lock{mutex};
            ranOn.push_back(Inside::look().name);
        };
    }
    std::size_t runs() {
        std::lock_guard const lock{mutex};
        return ranOn.size();
    }
};

// One waits; for the next the worker runs one itself.
TEST_F(HashedWheelFullPool, LetsTheWorkerRunWhatItHasNoRoomFor) {
    occupy(WhenFull::callerRuns);
    std::vector<Timeout> timeouts;
    for (int i = 0; i < 3; ++i) timeouts.push_back(timer->newTimeout(task(), 5ms));
    clock.add(10ms);
    waitUntil([this] { return runs() == 2; });
    EXPECT_EQ(ranOn, (std::vector<std::string>(2, "the worker")));
    leave.open();
    waitUntil([this] { return runs() == 3; });
    EXPECT_NE(ranOn.back(), "the worker");
    EXPECT_TRUE(timer->stop().empty());
    for (Timeout const& t : timeouts) EXPECT_TRUE(t.isDone());
    EXPECT_EQ(failures.count(), 0U);
}

TEST_F(HashedWheelFullPool, RejectsWhatItHasNoRoomFor) {
    occupy(WhenFull::reject);
    std::vector<Timeout> timeouts;
    for (int i = 0; i < 3; ++i) timeouts.push_back(timer->newTimeout(task(), 5ms));
    clock.add(10ms);
    waitUntil([this] { return failures.count() == 2; });
    EXPECT_EQ(failures.count(TaskFailure::Kind::rejected), 2U);
    for (auto const& entry : failures.entries()) {
        EXPECT_TRUE(entry.timeout.isRejected());
        EXPECT_NE(entry.what.find("queueCapacity is 1"), std::string::npos) << entry.what;
    }
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
    leave.open();
    waitUntil([this] { return runs() == 1; });
    EXPECT_TRUE(timer->stop().empty());
    std::size_t rejected = 0;
    for (Timeout const& t : timeouts) {
        EXPECT_NE(t.isDone(), t.isRejected());
        rejected += t.isRejected() ? 1U : 0U;
    }
    EXPECT_EQ(rejected, 2U);
    EXPECT_EQ(runs(), 1U);
}

TEST_F(HashedWheelFullPool, StopReturnsWhatWaitsInItAndWaitsForWhatRuns) {
    occupy(WhenFull::callerRuns);
    auto const witness = std::make_shared<int>();
    Timeout const waiting = timer->newTimeout([witness] { FAIL(); }, 5ms);
    Timeout const far = timer->newTimeout([witness] { FAIL(); }, 1h);
    clock.add(10ms);
    waitUntil([&] { return waiting.isExpired(); });
    std::atomic<bool> isOver{false};
    std::thread stopping{[&] {
        StoppedTimeouts const stopped = timer->stop();
        isOver = true;
        EXPECT_EQ(stopped.size(), 2U);
        EXPECT_EQ(witness.use_count(), 3);
    }};
    waitUntil([&] { return waiting.isReturned(); });
    EXPECT_FALSE(isOver);
    leave.open();
    stopping.join();
    EXPECT_TRUE(far.isReturned());
    EXPECT_EQ(answersOf(waiting), kCancelled);
    EXPECT_EQ(witness.use_count(), 1);
}

TEST_F(HashedWheelFullPool, CancelAndWaitTakesBackWhatWaitsInIt) {
    occupy(WhenFull::callerRuns);
    auto const witness = std::make_shared<int>();
    Timeout const waiting = timer->newTimeout([witness] { FAIL(); }, 5ms);
    clock.add(10ms);
    waitUntil([&] { return waiting.isExpired(); });
    EXPECT_FALSE(waiting.cancel());
    EXPECT_TRUE(waiting.cancelAndWait());
    EXPECT_EQ(witness.use_count(), 1);
    leave.open();
    EXPECT_TRUE(timer->stop().empty());
    EXPECT_EQ(answersOf(waiting), kCancelled);
    EXPECT_FALSE(waiting.isDone());
}

// ---- what is due runs at once ------------------------------------------------------------------

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

// ---- bugs of that variant ----------------------------------------------------------------------

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
