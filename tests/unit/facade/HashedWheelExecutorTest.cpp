// Tasks of a HashedWheelTimer that wait in an executor's queue, or are rejected by it.

#include <support/CountOfEach.h>
#include <support/Handles.h>
#include <support/HashedWheel.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// Shows G3, G19.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

/// A timer with ticks of 10 ms whose tasks wait in an executor's queue.
class HashedWheelExecutor : public OfHashedWheelUnderASettableClock {
protected:
    HashedWheelExecutor() { timer.start(); }

    Timeout addDue() {
        return timer.newTimeout(
            [this, w = witness] {
                static_cast<void>(w);
                ++runs;
            },
            5ms);
    }
    void makeQueued(std::size_t count) {
        clock.add(10ms);
        executor.waitFor(count);
    }
    std::size_t alive() const { return static_cast<std::size_t>(witness.use_count()) - 1; }

    Watchdog watchdog{"tasks in an executor's queue"};
    HoldingExecutor executor;
    std::shared_ptr<int> witness = std::make_shared<int>();
    int runs = 0;
    HashedWheelTimer timer{options({.tick = 10ms, .executor = executor, .leakDetection = false})};
};

TEST_F(HashedWheelExecutor, WhatWaitsWasScheduledAndIsNeitherPendingNorRun) {
    addDue();
    addDue();
    makeQueued(2);
    timer.newTimeout([] {}, 1h);
    TimerStatistics const statistics = timer.statistics();
    EXPECT_EQ(statistics.scheduled, 3U);
    EXPECT_EQ(statistics.pending, 1U);
    EXPECT_EQ(statistics.fired, 0U);
    executor.runAll();
    EXPECT_EQ(timer.statistics().scheduled, 3U);
}

// G4 as Netty has it: cancel() comes too late once the task was handed over.
TEST_F(HashedWheelExecutor, ATimeoutHasExpiredWhenItWasHandedOver) {
    Timeout const t = addDue();
    makeQueued(1);
    EXPECT_EQ(answersOf(t), kExpired);
    EXPECT_EQ((std::ostringstream{} << t).str(), "timeout(expired, waits for its executor)");
    EXPECT_FALSE(t.cancel());
    EXPECT_FALSE(t.isDone());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(runs, 0);
    executor.runAll();
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(answersOf(t), kExpired);
    EXPECT_TRUE(t.isDone());
    EXPECT_EQ(alive(), 0U);
}

TEST_F(HashedWheelExecutor, CancelAndWaitTakesBackWhatWaits) {
    Timeout const a = addDue();
    Timeout const b = addDue();
    ScopedTimeout scoped = addDue();
    Timeout const c = scoped.get();
    makeQueued(3);
    EXPECT_TRUE(a.cancelAndWait());
    EXPECT_EQ(alive(), 2U);
    EXPECT_EQ(answersOf(a), kCancelled);
    EXPECT_FALSE(a.cancelAndWait());
    scoped.reset();
    EXPECT_EQ(alive(), 1U);
    EXPECT_EQ(answersOf(c), kCancelled);
    EXPECT_EQ(timer.statistics().cancelled, 2U);
    executor.runAll();
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(b.isDone());
    EXPECT_FALSE(a.isDone());
    EXPECT_EQ(failures.count(), 0U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// G3, G10
TEST_F(HashedWheelExecutor, StopReturnsWhatWaits) {
    Timeout const a = addDue();
    Timeout const b = addDue();
    Timeout const far = timer.newTimeout([] {}, 1h);
    makeQueued(2);
    executor.take()();
    EXPECT_EQ(runs, 1);
    {
        StoppedTimeouts const stopped = timer.stop();
        EXPECT_EQ(stopped.size(), 2U);
        EXPECT_TRUE(far.isReturned());
        EXPECT_NE(a.isReturned(), b.isReturned());
        Timeout const& returned = a.isReturned() ? a : b;
        EXPECT_EQ(answersOf(returned), kCancelled);
        EXPECT_FALSE(returned.isDone());
        EXPECT_EQ(alive(), 1U);
    }
    EXPECT_EQ(alive(), 0U);
    executor.runAll();
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(failures.count(), 0U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// G20: the events of a hold are delivered when it is over.
TEST_F(HashedWheelExecutor, StopReturnsAChunkOfWhatWaitsAtATime) {
    constexpr std::size_t kMany = 600;
    struct Log final : TimerObserver {
        void onEvent(TimerEvent const& event) noexcept override {
            if (event.stage == TimerEvent::Stage::cancel)
                returned.insert(observed->statistics().returned);
        }
        HashedWheelTimer* observed = nullptr;
        std::set<std::uint64_t> returned;
    } seen;
    HoldingExecutor holding;
    HashedWheelTimer observed{
        options({.tick = 10ms, .executor = holding, .leakDetection = false, .observer = &seen})};
    seen.observed = &observed;
    for (std::size_t i = 0; i < kMany; ++i) observed.newTimeout([] {}, 5ms);
    clock.add(10ms);
    holding.waitFor(kMany);
    EXPECT_EQ(observed.stop().size(), kMany);
    EXPECT_EQ(seen.returned, (std::set<std::uint64_t>{256, 512, 600}));
    holding.runAll();
}

TEST_F(HashedWheelExecutor, StopWaitsForATaskThatRunsThere) {
    Latch entered;
    Latch leave;
    std::atomic<bool> isOver{false};
    timer.newTimeout(
        [&] {
            entered.open();
            leave.wait();
            isOver = true;
        },
        5ms);
    makeQueued(1);
    std::thread runner{[this] { executor.runAll(); }};
    entered.wait();
    std::thread stopping{[&] {
        static_cast<void>(timer.stop());
        EXPECT_TRUE(isOver);
    }};
    waitUntilRefused(timer);
    leave.open();
    stopping.join();
    runner.join();
}

// Bug pattern: a task outlives the timer.
TEST_F(HashedWheelExecutor, ClaimsMayOutliveTheTimer) {
    HoldingExecutor holding;
    auto other = std::make_unique<HashedWheelTimer>(
        options({.tick = 10ms, .executor = holding, .leakDetection = false}));
    Timeout const a = other->newTimeout([this] { ++runs; }, 5ms);
    Timeout const b = other->newTimeout([this] { ++runs; }, 5ms);
    clock.add(10ms);
    holding.waitFor(2);
    other.reset();
    holding.take()();
    holding.dropAll();
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(answersOf(a), kCancelled);
    EXPECT_FALSE(b.cancel());
    EXPECT_EQ(failures.count(), 0U);
}

// G19
TEST_F(HashedWheelExecutor, AClaimThatIsDroppedIsARejection) {
    Timeout const a = addDue();
    Timeout const b = addDue();
    makeQueued(2);
    static_cast<void>(executor.take());
    EXPECT_EQ(failures.count(TaskFailure::Kind::rejected), 1U);
    Timeout const& rejected = a.isRejected() ? a : b;
    Timeout const& other = a.isRejected() ? b : a;
    EXPECT_EQ(answersOf(rejected), kRejected);
    EXPECT_EQ(failures.entries()[0].timeout, rejected);
    EXPECT_FALSE(rejected.cancel());
    EXPECT_FALSE(rejected.cancelAndWait());
    EXPECT_FALSE(rejected.isDone());
    EXPECT_EQ(printed(rejected), "timeout(rejected)");
    EXPECT_EQ(alive(), 1U);
    executor.runAll();
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(other.isDone());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(timer.statistics().rejected, 1U);
    EXPECT_TRUE(timer.stop().empty());
}

/// Refuses the k-th in one of two ways, and runs every other one at once.
struct RefusesTheKth {
    int kth;
    bool throws;
    int count = 0;
    void execute(Claim claim) {
        if (++count != kth) return claim();
        if (throws) throw std::runtime_error{"full at " + std::to_string(kth)};
    }
};

using HashedWheelExecutorRejection = OfHashedWheel;

// G19. Netty loses the task without a word.
TEST_F(HashedWheelExecutorRejection, OfTheKthAffectsOnlyThatTask) {
    constexpr int kTasks = 100;
    std::size_t reported = 0;
    for (bool const throws : {true, false}) {
        for (int kth = 1; kth <= kTasks; ++kth) {
            SCOPED_TRACE(testing::Message() << (throws ? "throws at " : "drops ") << kth);
            FailureLog failed;
            RefusesTheKth executor{kth, throws};
            auto const witness = std::make_shared<int>();
            CountOfEach runs{kTasks};
            HashedWheelTimer timer{options({.tick = 1ms,
                                            .executor = executor,
                                            .maxPendingTimeouts = kTasks,
                                            .errorHandler = failed.handler()})};
            std::vector<Timeout> timeouts;
            for (std::size_t i = 0; i < kTasks; ++i)
                timeouts.push_back(
                    timer.newTimeout([&runs, i, witness] { runs.count(i); }, i / 25 * 1ms));
            clock.advance(5ms);
            EXPECT_EQ(witness.use_count(), 1);
            std::size_t rejected = 0;
            for (std::size_t i = 0; i < kTasks; ++i) {
                Timeout const& t = timeouts[i];
                EXPECT_EQ(runs.of(i), t.isRejected() ? 0 : 1);
                rejected += t.isRejected() ? 1U : 0U;
                EXPECT_EQ(answersOf(t), t.isRejected() ? kRejected : kExpired);
                EXPECT_EQ(t.isDone(), !t.isRejected());
            }
            EXPECT_EQ(rejected, 1U);
            ASSERT_EQ(failed.count(), 1U);
            EXPECT_EQ(failed.entries()[0].kind, TaskFailure::Kind::rejected);
            EXPECT_EQ(failed.entries()[0].what,
                      throws ? "full at " + std::to_string(kth) : std::string{});
            EXPECT_TRUE(failed.entries()[0].timeout.isRejected());
            EXPECT_EQ(timer.pendingTimeouts(), 0U);
            for (int i = 0; i < kTasks; ++i) timer.newTimeout([] {}, 1h);  // the limit is free
            EXPECT_THROW(timer.newTimeout([] {}, 1h), RejectedExecution);
            reported += failed.count();
        }
    }
    figure("G19", "rejected and reported, k = 1 to 100 in two ways, HashedWheelTimer", reported,
           exactly(2 * kTasks));
}

// An executor may itself say that it is full.
TEST_F(HashedWheelExecutorRejection, OfEveryTaskLeavesATimerThatGoesOn) {
    struct Refusing {
        bool isFull = true;
        int refused = 0;
        void execute(Claim claim) {
            if (!isFull) return claim();
            ++refused;
            throw RejectedExecution{"full"};
        }
    } executor;
    HashedWheelTimer timer{options({.tick = 1ms, .executor = executor})};
    auto const task = std::make_shared<ATask>();
    for (int i = 0; i < 100; ++i) timer.newTimeout(task, 0ms);
    clock.advance(1ms);
    EXPECT_EQ(executor.refused, 100);
    EXPECT_EQ(failures.count(TaskFailure::Kind::rejected), 100U);
    EXPECT_EQ(task->runs, 0);
    EXPECT_EQ(task->cancels, 0);
    EXPECT_EQ(task.use_count(), 1);
    executor.isFull = false;
    Timeout const next = timer.newTimeout(task, 0ms);
    clock.advance(1ms);
    EXPECT_TRUE(next.isDone());
    EXPECT_EQ(task->runs, 1);
}

}  // namespace
}  // namespace timingwheel::test
