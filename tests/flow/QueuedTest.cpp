// Tasks that wait in an executor's queue: still pending.

#include <support/Effort.h>
#include <support/Executors.h>
#include <support/TestTimers.h>

#include <gtest/gtest.h>

#include <memory>

// Shows G3.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

/// A timer whose tasks wait in an executor's queue.
class Queued : public testing::Test {
protected:
    Timeout addDue() {
        Timeout const timeout = timer.newTimeout(
            [this, w = witness] {
                static_cast<void>(w);
                ++runs;
            },
            1ms);
        return timeout;
    }
    void makeQueued(std::size_t count) {
        clock.add(1ms);
        executor.waitFor(count);
    }
    std::size_t alive() const { return static_cast<std::size_t>(witness.use_count()) - 1; }

    SettableClock clock;
    HoldingExecutor executor;
    FailureLog failures;
    std::shared_ptr<int> witness = std::make_shared<int>();
    int runs = 0;
    SystemTimer timer{{.clock = clock, .executor = executor, .errorHandler = failures.handler()}};
};

// G3, G4. Bug pattern: an expired entry that has not run yet cannot be cancelled.
TEST_F(Queued, IsStillPendingAndCancelWins) {
    Timeout const a = addDue();
    Timeout const b = addDue();
    makeQueued(2);
    EXPECT_TRUE(a.isPending());
    EXPECT_EQ(timer.pendingTimeouts(), 2U);
    EXPECT_TRUE(a.cancel());
    EXPECT_EQ(alive(), 1U);
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    executor.runAll();
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(b.isExpired());
    EXPECT_TRUE(a.isCancelled());
    EXPECT_EQ(failures.count(), 0U);
}

// G3
TEST_F(Queued, DroppingAClaimWhoseTaskWasCancelledRejectsNobody) {
    Timeout const a = addDue();
    Timeout const b = addDue();
    makeQueued(2);
    EXPECT_TRUE(a.cancel());
    static_cast<void>(executor.take());
    EXPECT_TRUE(b.isPending());
    EXPECT_EQ(failures.count(), 0U);
    static_cast<void>(executor.take());
    EXPECT_TRUE(b.isRejected());
    EXPECT_EQ(failures.count(TaskFailure::Kind::rejected), 1U);
    EXPECT_EQ(alive(), 0U);
}

TEST_F(Queued, RescheduleWins) {
    Timeout const a = addDue();
    makeQueued(1);
    EXPECT_TRUE(timer.reschedule(a, 10ms));
    EXPECT_TRUE(a.isPending());
    EXPECT_EQ(a.deadline(), clock.now() + 10ms);
    executor.runAll();
    EXPECT_EQ(runs, 0);
    clock.add(10ms);
    executor.waitFor(1);
    executor.runAll();
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(a.isExpired());
}

TEST_F(Queued, RescheduleToThePastQueuesItAgain) {
    Timeout const a = addDue();
    makeQueued(1);
    EXPECT_TRUE(timer.reschedule(a, -1s));
    executor.waitFor(2);
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    executor.runAll();
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(timer.statistics().fired, 1U);
    EXPECT_EQ(failures.count(), 0U);
}

// G3, G10
TEST_F(Queued, StopReturnsIt) {
    Timeout const a = addDue();
    makeQueued(1);
    {
        StoppedTimeouts const stopped = timer.stop();
        EXPECT_EQ(stopped.size(), 1U);
        EXPECT_EQ((*stopped.begin()).timeout(), a);
    }
    EXPECT_TRUE(a.isCancelled());
    executor.runAll();
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(failures.count(), 0U);
    EXPECT_EQ(alive(), 0U);
}

// Bug pattern: a task outlives the timer.
TEST_F(Queued, ClaimsMayOutliveTheTimer) {
    HoldingExecutor holding;
    auto other = std::make_unique<SystemTimer>(TimerOptions{.clock = clock, .executor = holding});
    Timeout const a = other->newTimeout([this] { ++runs; }, 1ms);
    Timeout const b = other->newTimeout([this] { ++runs; }, 1ms);
    clock.add(1ms);
    holding.waitFor(2);
    other.reset();
    holding.take()();
    holding.dropAll();
    EXPECT_EQ(runs, 0);
    EXPECT_TRUE(a.isCancelled());
    EXPECT_FALSE(b.cancel());
}

TEST_F(Queued, APeriodicOneThatIsRejectedEnds) {
    Timeout const a = timer.scheduleAtFixedRate([this] { ++runs; }, 1ms, 1ms);
    makeQueued(1);
    executor.dropAll();
    EXPECT_TRUE(a.isRejected());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    clock.add(10ms);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(timer.statistics().rejected, 1U);
}

TEST_F(Queued, AHookThatIsRejectedMayBeScheduledAgain) {
    struct Object {
        void run() { ++runs; }
        int runs = 0;
    };
    Object object;
    TimerHook<&Object::run> hook{object};
    timer.schedule(hook, 1ms);
    makeQueued(1);
    EXPECT_TRUE(hook.isPending());
    executor.dropAll();
    EXPECT_FALSE(hook.isPending());
    ASSERT_EQ(failures.count(TaskFailure::Kind::rejected), 1U);
    EXPECT_FALSE(failures.entries()[0].timeout);
    timer.schedule(hook, 1ms);
    makeQueued(1);
    executor.runAll();
    EXPECT_EQ(object.runs, 1);
}

TEST_F(Queued, AHookMayDieWhileItIsQueued) {
    struct Object {
        void run() { FAIL(); }
    };
    Object object;
    {
        TimerHook<&Object::run> hook{object};
        timer.schedule(hook, 1ms);
        makeQueued(1);
    }
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    executor.runAll();
    EXPECT_EQ(timer.statistics().cancelled, 1U);
}

}  // namespace
}  // namespace timingwheel::test
