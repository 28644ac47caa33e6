// stop() of a HashedWheelTimer, and its destructor.

#include <support/AllocationCounter.h>
#include <support/Handles.h>
#include <support/HashedWheel.h>
#include <support/Recorder.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// Shows G10.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

using HashedWheelStop = OfHashedWheel;

/// Calls `call` when its timeout is cancelled.
struct Calls {
    std::function<void()> call;
    void operator()() const { FAIL(); }
    void cancelled(Timeout const&) const { call(); }
};

TEST_F(HashedWheelStop, ReturnsWhatWasPendingWherever) {
    HashedWheelTimer timer{options({.ticksPerWheel = 4})};
    std::vector<Timeout> pending;
    auto const ran = timer.newTimeout([] {}, 50ms);
    auto const cancelled = timer.newTimeout([] { FAIL(); }, 1h);
    pending.push_back(timer.newTimeout([] { FAIL(); }, 350ms));
    pending.push_back(timer.newTimeout([] { FAIL(); }, 1h));
    pending.push_back(timer.newTimeout([] { FAIL(); }, Duration::max()));
    clock.advance(200ms);
    pending.push_back(timer.newTimeout([] { FAIL(); }, 0ms));  // the worker has not seen it
    auto const cancelledNow = timer.newTimeout([] { FAIL(); }, 1h);
    EXPECT_TRUE(cancelled.cancel());
    EXPECT_TRUE(cancelledNow.cancel());
    std::vector<Timeout> returned;
    for (StoppedTimeout const& one : timer.stop()) returned.push_back(one.timeout());
    std::sort(returned.begin(), returned.end());
    std::vector<Timeout> expected = pending;
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(returned, expected);
    for (Timeout const& t : pending) {
        EXPECT_EQ(answersOf(t), kCancelled);
        EXPECT_TRUE(t.isReturned());
        EXPECT_FALSE(t.isDone());
        EXPECT_FALSE(t.cancel());
        EXPECT_EQ(printed(t), "timeout(returned by stop())");
    }
    for (Timeout const& t : {ran, cancelled, cancelledNow}) EXPECT_FALSE(t.isReturned());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    clock.advance(1h);
}

// Netty tells nobody, and its count stays as it was.
TEST_F(HashedWheelStop, TellsEachTaskThatItWasCancelledOnce) {
    HashedWheelTimer timer{options()};
    auto const task = std::make_shared<ATask>();
    int runs = 0;
    std::array<int, 3> cancels{};
    auto const witness = std::make_shared<int>();
    timer.newTimeout(task, 1h);
    timer.newTimeout(Hears{&runs, &cancels[0]}, 1h);
    clock.advance(100ms);
    timer.newTimeout(Hears{&runs, &cancels[1]}, 1h);
    Timeout const before = timer.newTimeout([witness] { FAIL(); }, 1h);
    Timeout const told = timer.newTimeout(Hears{&runs, &cancels[2]}, 1h);
    EXPECT_TRUE(before.cancel());
    EXPECT_TRUE(told.cancel());
    StoppedTimeouts const stopped = timer.stop();
    EXPECT_EQ(stopped.size(), 3U);
    // Those two, and the one that was cancelled by hand.
    EXPECT_EQ(cancels, (std::array<int, 3>{1, 1, 1}));
    EXPECT_EQ(task->cancels, 1);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(witness.use_count(), 1);  // what was cancelled by hand is gone
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    std::size_t callables = 0;
    for (StoppedTimeout const& one : stopped) {
        if (one.task() == task) continue;
        EXPECT_NE(one.target<Hears>(), nullptr);
        ++callables;
    }
    EXPECT_EQ(callables, 2U);
}

TEST_F(HashedWheelStop, TellsEachTaskThatItWasCancelledWhenTheTimerIsDestroyed) {
    auto const task = std::make_shared<ATask>();
    Timeout t;
    {
        HashedWheelTimer timer{options()};
        t = timer.newTimeout(task, 1h);
        clock.advance(100ms);
    }
    EXPECT_EQ(answersOf(t), kCancelled);
    EXPECT_EQ(task->runs, 0);
    EXPECT_EQ(task->cancels, 1);
    task->last = {};
    EXPECT_EQ(task.use_count(), 1);
}

TEST_F(HashedWheelStop, ASecondCallReturnsNothing) {
    HashedWheelTimer timer{options()};
    timer.newTimeout([] {}, 1h);
    StoppedTimeouts const first = timer.stop();
    EXPECT_EQ(first.size(), 1U);
    EXPECT_TRUE(timer.stop().empty());
    EXPECT_TRUE(timer.stop().empty());
    EXPECT_EQ(first.size(), 1U);
}

TEST_F(HashedWheelStop, WhatIsRefusedAfterwardsKeepsNoMemory) {
    HashedWheelTimer timer{options()};
    timer.newTimeout([] {}, 1h).cancel();
    EXPECT_TRUE(timer.stop().empty());
    long long const blocks = livingBlocks();
    for (int i = 0; i < 9; ++i) EXPECT_THROW(timer.newTimeout([] {}, 1h), std::logic_error);
    EXPECT_EQ(livingBlocks(), blocks);
}

// SystemTimer's callers all wait: here only the first.
TEST_F(HashedWheelStop, AConcurrentCallReturnsNothingAtOnce) {
    Watchdog const watchdog{"a second stop() while the first waits"};
    HashedWheelTimer timer{options()};
    Latch entered;
    Latch leave;
    std::atomic<bool> isOver{false};
    timer.newTimeout(
        [&] {
            entered.open();
            leave.wait();
            isOver = true;
        },
        50ms);
    Timeout const pending = timer.newTimeout([] {}, 1h);
    Mover mover{clock, 100ms};
    entered.wait();
    std::optional<StoppedTimeouts> first;
    std::thread stopping{[&] {
        first = timer.stop();
        EXPECT_TRUE(isOver);  // it waited
    }};
    waitUntilRefused(timer);
    EXPECT_TRUE(timer.stop().empty());
    EXPECT_FALSE(isOver);
    leave.open();
    stopping.join();
    mover.join();
    EXPECT_FALSE(first->empty());
    EXPECT_TRUE(pending.isReturned());
}

// The slot in progress is finished: what is due with the task that runs runs too.
TEST_F(HashedWheelStop, EndsWhenTheSlotInProgressIsDone) {
    Watchdog const watchdog{"stop() in the middle of a slot"};
    HashedWheelTimer timer{options()};
    Latch entered;
    Latch leave;
    int runs = 0;
    timer.newTimeout(
        [&] {
            ++runs;
            entered.open();
            leave.wait();
        },
        50ms);
    for (int i = 0; i < 10; ++i) timer.newTimeout([&] { ++runs; }, 60ms);
    Timeout const next = timer.newTimeout([&] { ++runs; }, 150ms);
    Mover mover{clock, 100ms};
    entered.wait();
    std::thread stopping{[&] { EXPECT_FALSE(timer.stop().empty()); }};
    waitUntilRefused(timer);
    leave.open();
    stopping.join();
    mover.join();
    EXPECT_EQ(runs, 11);
    EXPECT_TRUE(next.isReturned());
}

// The worker has taken several out of the slot when it runs the first.
TEST_F(HashedWheelStop, ByATaskReturnsThoseOfItsTickThatHaveNotHadTheirTurn) {
    auto timer = std::make_unique<HashedWheelTimer>(options({.leakDetection = false}));
    auto const witness = std::make_shared<int>();
    std::vector<Timeout> timeouts{timer->newTimeout([&] { timer.reset(); }, 50ms)};
    for (int i = 0; i < 40; ++i) timeouts.push_back(timer->newTimeout([witness] { FAIL(); }, 50ms));
    EXPECT_TRUE(timeouts.back().cancel());
    clock.advance(100ms);
    EXPECT_EQ(timer, nullptr);
    EXPECT_TRUE(timeouts.back().isCancelled() && !timeouts.back().isReturned());
    timeouts.pop_back();
    EXPECT_TRUE(timeouts.front().isExpired());
    timeouts.erase(timeouts.begin());
    for (Timeout const& t : timeouts) EXPECT_TRUE(t.isReturned());
    EXPECT_EQ(witness.use_count(), 1);
}

TEST_F(HashedWheelStop, FromInsideATaskThrows) {
    HashedWheelTimer timer{options({.name = "busy"})};
    int refused = 0;
    timer.newTimeout(
        [&] {
            expectThrows<std::logic_error>([&] { static_cast<void>(timer.stop()); }, "busy");
            ++refused;
        },
        50ms);
    Timeout const next = timer.newTimeout([] {}, 150ms);
    clock.advance(200ms);
    EXPECT_EQ(refused, 1);
    EXPECT_TRUE(next.isExpired());
}

TEST_F(HashedWheelStop, FromInsideATaskOnAnExecutorThrows) {
    Watchdog const watchdog{"stop() from a task on an executor"};
    ThreadExecutor executor;
    HashedWheelTimer timer{options({.executor = executor})};
    int refused = 0;
    timer.newTimeout(
        [&] {
            EXPECT_THROW(static_cast<void>(timer.stop()), std::logic_error);
            ++refused;
        },
        50ms);
    clock.advance(100ms);
    EXPECT_EQ(refused, 1);
    EXPECT_TRUE(timer.stop().empty());
}

// As from the worker's thread. Bug pattern: it waits for the stop that has called it.
TEST_F(HashedWheelStop, FromACancelledOfTheDestructorThrows) {
    Watchdog const watchdog{"stop() from what the destructor calls"};
    {
        HashedWheelTimer timer{options({.name = "busy"})};
        timer.newTimeout(Calls{[&] { timer.stop(); }}, 1h);
    }
    ASSERT_EQ(failures.count(), 1U);
    EXPECT_NE(failures.entries().front().what.find("busy"), std::string::npos);
}

// G8
TEST_F(HashedWheelStop, ACancelledMayDestroyTheTimer) {
    Watchdog const watchdog{"a timer that dies inside its stop()"};
    auto timer = std::make_unique<HashedWheelTimer>(options({.taskPool = TaskPoolOptions{}}));
    timer->newTimeout(Calls{[&] { timer.reset(); }}, 1h);
    Timeout const other = timer->newTimeout([] {}, 2h);
    EXPECT_EQ(timer->stop().size(), 2U);
    EXPECT_EQ(timer, nullptr);
    EXPECT_TRUE(other.isReturned());
    EXPECT_EQ(log.count(), 0U);
}

// G8. Bug pattern: the worker's tick goes on, and reports a wake to an observer that may be gone.
TEST_F(HashedWheelStop, OfATimerThatACancelledDestroysOnTheWorkerIsTheEndOfAllEvents) {
    Recorder recorder;
    auto timer = std::make_unique<HashedWheelTimer>(options({.observer = &recorder}));
    Timeout const t = timer->newTimeout(Calls{[&] {
                                            timer.reset();
                                            recorder.clear();
                                        }},
                                        1h);
    EXPECT_TRUE(t.cancel());
    clock.advance(100ms);
    EXPECT_EQ(timer, nullptr);
    EXPECT_TRUE(recorder.events().empty());
}

// G8, G11. Bug pattern: stop() calls cancelled() before it is over.
TEST_F(HashedWheelStop, MayDestroyTheTimerAndItsClockInCancelled) {
    struct World {
        ManualClock clock;
        HashedWheelTimer timer{{.clock = clock}};
    };
    for (bool const isCancelledBefore : {false, true}) {
        auto* world = new World;
        int calls = 0;
        Timeout const t = world->timer.newTimeout(Calls{[&] {
                                                      ++calls;
                                                      delete world;
                                                  }},
                                                  1h);
        if (isCancelledBefore) {
            EXPECT_TRUE(t.cancel());
        }
        EXPECT_EQ(world->timer.stop().size(), isCancelledBefore ? 0U : 1U);
        EXPECT_EQ(calls, 1);
        EXPECT_EQ(t.timer(), nullptr);
    }
}

}  // namespace
}  // namespace timingwheel::test
