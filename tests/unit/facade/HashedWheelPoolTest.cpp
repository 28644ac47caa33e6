// A HashedWheelTimer with a pool of its own.

#include <support/DriverThreads.h>
#include <support/Handles.h>
#include <support/HashedWheel.h>
#include <support/ThreadStatus.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
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
        EXPECT_EQ(findThread("pool that ends") != 0, kHasProc);
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
TEST_F(HashedWheelPool, WhatATaskThrowsIsReported) {
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
class FullHashedWheelPool : public OfHashedWheelUnderASettableClock {
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
TEST_F(FullHashedWheelPool, LetsTheWorkerRunWhatItHasNoRoomFor) {
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

TEST_F(FullHashedWheelPool, RejectsWhatItHasNoRoomFor) {
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

TEST_F(FullHashedWheelPool, StopReturnsWhatWaitsInItAndWaitsForWhatRuns) {
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

TEST_F(FullHashedWheelPool, CancelAndWaitTakesBackWhatWaitsInIt) {
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

}  // namespace
}  // namespace timingwheel::test
