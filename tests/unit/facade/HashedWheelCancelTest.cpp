// Cancelling on a HashedWheelTimer: who wins, who is told and when, and when captures go.

#include <support/AllocationCounter.h>
#include <support/Handles.h>
#include <support/HashedWheel.h>
#include <support/Threads.h>
#include <timingwheel/detail/FreeKeptNodes.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

// Shows G3, G4.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

using HashedWheelCancel = OfHashedWheel;

TEST_F(HashedWheelCancel, IsTrueOnceAndTheTaskNeverRuns) {
    HashedWheelTimer timer{options()};
    Timeout const t = timer.newTimeout([] { FAIL(); }, 50ms);
    Timeout const copy = t;
    EXPECT_TRUE(copy.cancel());
    EXPECT_FALSE(t.cancel());
    EXPECT_FALSE(copy.cancelAndWait());
    EXPECT_EQ(answersOf(t), kCancelled);
    EXPECT_FALSE(t.isReturned());
    EXPECT_FALSE(t.isDone());
    EXPECT_EQ(t.task(), nullptr);
    EXPECT_EQ(printed(t), "timeout(cancelled)");
    clock.advance(1s);
    EXPECT_EQ(answersOf(t), kCancelled);
    EXPECT_FALSE(t.isDone());
    EXPECT_FALSE(t.cancel());
}

// G4
TEST_F(HashedWheelCancel, IsTrueForExactlyOneOfManyCallers) {
    constexpr std::size_t kThreads = 8;
    std::size_t const count = scaled(2'000);
    HashedWheelTimer timer{options({.tick = 1ms})};
    std::vector<Timeout> timeouts;
    for (std::size_t i = 0; i < count; ++i) {
        timeouts.push_back(timer.newTimeout([] { FAIL(); }, 1h));
        if (i == count / 2) clock.advance(1ms);  // half of them are in their slots
    }
    std::vector<std::atomic<int>> wins(count);
    together(kThreads, [&](std::size_t thread) {
        for (std::size_t i = 0; i < count; ++i) {
            bool const won = thread % 4 == 3 ? timeouts[i].cancelAndWait() : timeouts[i].cancel();
            if (won) ++wins[i];
        }
    });
    for (auto const& won : wins) EXPECT_EQ(won, 1);
    clock.advance(1ms);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(timer.statistics().cancelled, count);
}

// In the queue of new ones, in its slot, and in the slot for a later turn.
TEST_F(HashedWheelCancel, CountsUntilTheNextTick) {
    HashedWheelTimer timer{options({.ticksPerWheel = 4})};
    Timeout const inSlot = timer.newTimeout([] { FAIL(); }, 350ms);
    Timeout const laterTurn = timer.newTimeout([] { FAIL(); }, 1h);
    clock.advance(100ms);
    Timeout const inQueue = timer.newTimeout([] { FAIL(); }, 250ms);
    for (Timeout const& t : {inSlot, laterTurn, inQueue}) {
        EXPECT_EQ(timer.pendingTimeouts(), 3U);
        EXPECT_TRUE(t.cancel());
    }
    clock.advance(99ms);
    EXPECT_EQ(timer.pendingTimeouts(), 3U);
    clock.advance(1ms);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(timer.statistics().cancelled, 3U);
}

// Most are cancelled before the next tick: their memory does not wait for it.
TEST_F(HashedWheelCancel, BeforeTheNextTickGivesBackItsMemoryAtOnce) {
    HashedWheelTimer timer{options()};
    Timeout const first = timer.newTimeout([] {}, 1h);  // starts the worker
    Timeout timeout = timer.newTimeout([] {}, 1h);
    AllocationCounter const counter;
    EXPECT_TRUE(timeout.cancel());
    timeout = Timeout{};
    detail::freeKeptNodes();
    EXPECT_EQ(counter.deallocations(), 1U);
}

TEST_F(HashedWheelCancel, IsToldOnTheWorkerAtTheNextTickOnce) {
    struct Told {
        std::vector<std::thread::id>* threads;
        void operator()() const { FAIL(); }
        void cancelled(Timeout const& t) const {
            threads->push_back(std::this_thread::get_id());
            EXPECT_TRUE(t.isCancelled());
        }
    };
    HashedWheelTimer timer{options()};
    std::thread::id worker;
    timer.newTimeout([&] { worker = std::this_thread::get_id(); }, 0ms);
    clock.advance(100ms);
    std::vector<std::thread::id> heard;
    Timeout const t = timer.newTimeout(Told{&heard}, 1h);
    clock.advance(100ms);
    EXPECT_TRUE(t.cancel());
    EXPECT_FALSE(t.cancel());
    clock.advance(99ms);
    EXPECT_TRUE(heard.empty());
    clock.advance(1ms);
    EXPECT_EQ(heard, (std::vector<std::thread::id>{worker}));
    clock.advance(2h);
    static_cast<void>(timer.stop());
    EXPECT_EQ(heard.size(), 1U);
}

TEST_F(HashedWheelCancel, IsNotToldToATaskThatRan) {
    HashedWheelTimer timer{options()};
    int runs = 0;
    int cancels = 0;
    Timeout const t = timer.newTimeout(Hears{&runs, &cancels}, 50ms);
    clock.advance(100ms);
    EXPECT_FALSE(t.cancel());
    EXPECT_FALSE(t.cancelAndWait());
    clock.advance(100ms);
    static_cast<void>(timer.stop());
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(cancels, 0);
}

// G6: far away, near, and not yet in its slot.
TEST_F(HashedWheelCancel, DestroysTheTaskWithinATick) {
    HashedWheelTimer timer{options({.ticksPerWheel = 4})};
    auto const witness = std::make_shared<int>();
    for (nanoseconds const delay : {nanoseconds{250ms}, nanoseconds{1h}, nanoseconds::max()}) {
        for (bool const isInItsSlot : {false, true}) {
            Timeout const t = timer.newTimeout([witness] { FAIL(); }, delay);
            if (isInItsSlot) clock.advance(100ms);
            EXPECT_TRUE(t.cancel());
            clock.advance(100ms);
            EXPECT_EQ(witness.use_count(), 1);
        }
    }
}

TEST_F(HashedWheelCancel, AndWaitDestroysTheTaskAtOnce) {
    HashedWheelTimer timer{options({.ticksPerWheel = 4})};
    auto const witness = std::make_shared<int>();
    for (bool const isInItsSlot : {false, true}) {
        auto const task = std::make_shared<ATask>();
        task->onRun = [witness](Timeout const&) { FAIL(); };
        Timeout const a = timer.newTimeout([witness] { FAIL(); }, 1h);
        Timeout const b = timer.newTimeout(task, 250ms);
        ScopedTimeout c = timer.newTimeout([witness] { FAIL(); }, 350ms);
        Timeout const d = c.get();
        if (isInItsSlot) clock.advance(100ms);
        EXPECT_TRUE(a.cancelAndWait());
        EXPECT_EQ(witness.use_count(), 3);
        EXPECT_TRUE(b.cancelAndWait());
        EXPECT_EQ(task->cancels, 1);
        task->last = {};
        EXPECT_EQ(task.use_count(), 1);
        c.reset();
        EXPECT_TRUE(d.isCancelled());
        EXPECT_EQ(witness.use_count(), 2);  // that of `task`
        clock.advance(1s);
        EXPECT_EQ(task->cancels, 1);
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
    }
    EXPECT_EQ(witness.use_count(), 1);
}

// One cancels, and the task waits for the worker; the other waits for its captures to be gone.
TEST_F(HashedWheelCancel, AndWaitDestroysWhatACancelLeftToTheWorker) {
    Watchdog const watchdog{"cancelAndWait of what was cancelled"};
    HashedWheelTimer timer{options()};
    auto const witness = std::make_shared<int>();
    Timeout const t = timer.newTimeout([witness] { FAIL(); }, 1h);
    EXPECT_TRUE(t.cancel());
    EXPECT_FALSE(t.cancelAndWait());
    EXPECT_EQ(witness.use_count(), 1);
    clock.advance(100ms);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

TEST_F(HashedWheelCancel, OfATaskOfTheSameTickThatHasNotHadItsTurnWins) {
    HashedWheelTimer timer{options()};
    std::vector<Timeout> timeouts;
    int runs = 0;
    for (int i = 0; i < 10; ++i)
        timeouts.push_back(timer.newTimeout(
            [&, i] {
                ++runs;
                for (int j = 0; j < 10; ++j)
                    EXPECT_EQ(timeouts[static_cast<std::size_t>(j)].cancel(), j > i) << j;
            },
            50ms));
    clock.advance(100ms);
    EXPECT_EQ(runs, 1);
    for (std::size_t i = 1; i < 10; ++i) EXPECT_EQ(answersOf(timeouts[i]), kCancelled);
    clock.advance(100ms);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// G5
TEST_F(HashedWheelCancel, AndWaitWaitsForTheRunAndItsCaptures) {
    Watchdog const watchdog{"cancelAndWait of a task that runs"};
    HashedWheelTimer timer{options()};
    Latch entered;
    Latch leave;
    auto const witness = std::make_shared<int>();
    std::atomic<bool> isOver{false};
    Timeout const t = timer.newTimeout(
        [&, witness] {
            entered.open();
            leave.wait();
            isOver = true;
        },
        50ms);
    Mover mover{clock, 100ms};
    entered.wait();
    EXPECT_FALSE(t.cancel());
    std::thread helper{[&] { leave.open(); }};
    EXPECT_FALSE(t.cancelAndWait());
    EXPECT_TRUE(isOver);
    EXPECT_TRUE(t.isDone());
    EXPECT_EQ(witness.use_count(), 1);
    helper.join();
    mover.join();
}

/// Throws when it is told.
struct ThrowsWhenTold {
    void operator()() const {}
    void cancelled(Timeout const&) const { throw std::runtime_error{"no"}; }
};

TEST_F(HashedWheelCancel, WhatCancelledThrowsIsReportedAndTheWorkerGoesOn) {
    HashedWheelTimer timer{options()};
    Timeout const t = timer.newTimeout(ThrowsWhenTold{}, 1h);
    Timeout const other = timer.newTimeout(ThrowsWhenTold{}, 1h);
    Timeout const next = timer.newTimeout([] {}, 150ms);
    EXPECT_TRUE(t.cancel());
    EXPECT_TRUE(other.cancel());
    clock.advance(100ms);
    auto const entries = failures.entries();
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].kind, TaskFailure::Kind::threw);
    EXPECT_EQ(entries[0].what, "no");
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    clock.advance(100ms);
    EXPECT_TRUE(next.isExpired());
    timer.newTimeout(ThrowsWhenTold{}, 1h);
    EXPECT_EQ(timer.stop().size(), 1U);
    EXPECT_EQ(failures.count(TaskFailure::Kind::threw), 3U);
}

TEST_F(HashedWheelCancel, ADestructorThatThrowsIsReportedAndTheWorkerGoesOn) {
    HashedWheelTimer timer{options()};
    Timeout const t = timer.newTimeout([bad = ThrowsWhenItDies{}] {}, 1h);
    timer.newTimeout([bad = ThrowsWhenItDies{}] {}, 50ms);
    Timeout const next = timer.newTimeout([] {}, 150ms);
    EXPECT_TRUE(t.cancel());
    clock.advance(200ms);
    EXPECT_TRUE(next.isExpired());
    EXPECT_EQ(failures.count(TaskFailure::Kind::destructorThrew), 2U);
    EXPECT_EQ(failures.count(), 2U);
}

/// Uses its timer when it is told and when it dies.
struct Meddles {
    HashedWheelTimer* timer;
    int* refused;
    std::shared_ptr<int> alive = std::make_shared<int>();

    Meddles(HashedWheelTimer& its, int& counter) : timer{&its}, refused{&counter} {}
    Meddles(Meddles&&) = default;
    ~Meddles() {
        if (alive) meddle();
    }
    void operator()() const {}
    void cancelled(Timeout const&) const { meddle(); }
    void meddle() const {
        try {
            timer->newTimeout([] {}, 1h).cancel();
            static_cast<void>(timer->pendingTimeouts());
            static_cast<void>(timer->statistics());
            static_cast<void>(timer->stop());
        } catch (std::logic_error const&) {
            ++*refused;
        }
    }
};

// Bug pattern: stop() joins the thread that it is called on.
TEST_F(HashedWheelCancel, WhoIsToldOrDestroyedOnTheWorkerMayUseTheTimerButNotStopIt) {
    Watchdog const watchdog{"stop() from the worker"};
    HashedWheelTimer timer{options()};
    int refused = 0;
    Timeout const t = timer.newTimeout(Meddles{timer, refused}, 1h);
    EXPECT_TRUE(t.cancel());
    clock.advance(100ms);
    EXPECT_EQ(refused, 2);  // told, and destroyed
    timer.newTimeout(Meddles{timer, refused}, 50ms);
    clock.advance(200ms);
    EXPECT_EQ(refused, 3);  // destroyed after it ran
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    Timeout const goesOn = timer.newTimeout([] {}, 50ms);
    clock.advance(100ms);
    EXPECT_TRUE(goesOn.isExpired());
}

}  // namespace
}  // namespace timingwheel::test
