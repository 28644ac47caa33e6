// What becomes of a timeout of HashedWheelTimer: it runs, is cancelled, is returned or is rejected;
// who hears of it, when its captures go, and what the limit of pending timeouts makes of it.

#include <support/CountOfEach.h>
#include <support/Handles.h>
#include <support/HashedWheel.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// ---- run ---------------------------------------------------------------------------------------

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

TEST_F(HashedWheelRun, WhatATaskThrowsIsToldAndTheWorkerGoesOn) {
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

// ---- cancel ------------------------------------------------------------------------------------

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

TEST_F(HashedWheelCancel, WhatCancelledThrowsIsToldAndTheWorkerGoesOn) {
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

TEST_F(HashedWheelCancel, ADestructorThatThrowsIsToldAndTheWorkerGoesOn) {
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

// ---- stop --------------------------------------------------------------------------------------

using HashedWheelStop = OfHashedWheel;

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

// ---- handles that outlive the timer ------------------------------------------------------------

using HashedWheelHandle = OfHashedWheel;

// G11
TEST_F(HashedWheelHandle, TellsTheTruthWhenTheTimerIsGone) {
    auto timer = std::make_unique<HashedWheelTimer>(options());
    Timeout const expired = timer->newTimeout([] {}, 50ms);
    Timeout const dropped = timer->newTimeout([] {}, 1h);
    Timeout const cancelled = timer->newTimeout(std::make_shared<ATask>(), 1h);
    Timeout const unseen = timer->newTimeout([] {}, 2h);
    clock.advance(100ms);
    EXPECT_TRUE(cancelled.cancel());
    nanoseconds const left = dropped.remaining();
    EXPECT_GT(left, 1h - 101ms);
    timer.reset();
    clock.advance(1h);
    EXPECT_EQ(answersOf(expired), kExpired);
    EXPECT_TRUE(expired.isDone());
    for (Timeout const& t : {dropped, cancelled, unseen}) EXPECT_EQ(answersOf(t), kCancelled);
    EXPECT_EQ(dropped.remaining(), left);  // what was left when it stopped
    for (Timeout const& t : {expired, dropped, cancelled, unseen}) {
        EXPECT_EQ(t.timer(), nullptr);
        EXPECT_EQ(t.task(), nullptr);
        EXPECT_FALSE(t.cancel());
        EXPECT_FALSE(t.cancelAndWait());
        EXPECT_FALSE(printed(t).empty());
    }
}

// What stop() returned may outlive the timer, and its clock.
TEST_F(HashedWheelHandle, OfAStoppedTimeoutOutlivesTimerAndClock) {
    StoppedTimeouts kept;
    auto const witness = std::make_shared<int>();
    {
        ManualClock brief;
        HashedWheelTimer timer{{.clock = brief}};
        timer.newTimeout([witness] {}, 1h);
        brief.advance(100ms);
        kept = timer.stop();
    }
    ASSERT_EQ(kept.size(), 1U);
    Timeout const t = (*kept.begin()).timeout();
    EXPECT_GT(t.remaining(), 1h - 101ms);
    EXPECT_EQ(witness.use_count(), 2);
    kept = {};
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_TRUE(t.isReturned());
}

// ---- the limit of pending timeouts -------------------------------------------------------------

using HashedWheelLimit = OfHashedWheel;

// G18
TEST_F(HashedWheelLimit, IsExactAndNamesValueAndBound) {
    HashedWheelTimer timer{options({.name = "small", .maxPendingTimeouts = 10})};
    auto const witness = std::make_shared<int>();
    for (int i = 0; i < 10; ++i) timer.newTimeout([] {}, 1h);
    for (int i = 0; i < 5; ++i) {
        auto const schedule = [&] { timer.newTimeout([witness] {}, 1h); };
        expectThrows<RejectedExecution>(schedule, "timer \"small\": 10 timeouts are pending");
        expectThrows<RejectedExecution>(schedule, "maxPendingTimeouts is 10");
        EXPECT_EQ(timer.pendingTimeouts(), 10U);
    }
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_EQ(timer.statistics().refused, 10U);
    EXPECT_EQ(timer.statistics().scheduled, 10U);
}

// G18
TEST_F(HashedWheelLimit, IsExactWhenManyThreadsSchedule) {
    constexpr std::size_t kLimit = 500;
    HashedWheelTimer timer{options({.maxPendingTimeouts = kLimit})};
    for (int round = 0; round < 3; ++round) {
        std::atomic<std::size_t> accepted{0};
        std::atomic<std::size_t> above{0};
        together(8, [&](std::size_t) {
            for (std::size_t i = 0; i < kLimit; ++i) {
                try {
                    timer.newTimeout([] {}, 50ms);
                    ++accepted;
                } catch (RejectedExecution const&) {
                }
                if (timer.pendingTimeouts() > kLimit) ++above;
            }
        });
        EXPECT_EQ(accepted, kLimit);
        EXPECT_EQ(above, 0U);
        EXPECT_EQ(timer.pendingTimeouts(), kLimit);
        clock.advance(200ms);
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
    }
}

// A task has given its place back when it runs; one that was cancelled does at the next tick.
TEST_F(HashedWheelLimit, GivesThePlaceBack) {
    HashedWheelTimer timer{options({.maxPendingTimeouts = 1})};
    int runs = 0;
    std::function<void()> const again = [&] {
        if (++runs < 50) timer.newTimeout(again, 0ms);
    };
    timer.newTimeout(again, 0ms);
    clock.advance(10s);
    EXPECT_EQ(runs, 50);
    EXPECT_EQ(failures.count(), 0U);

    Timeout const cancelled = timer.newTimeout([] {}, 1h);
    EXPECT_TRUE(cancelled.cancel());
    EXPECT_THROW(timer.newTimeout([] {}, 1h), RejectedExecution);
    clock.advance(100ms);
    EXPECT_TRUE(timer.newTimeout([] {}, 1h).isPending());
}

// ---- executors ---------------------------------------------------------------------------------

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

using HashedWheelRejection = OfHashedWheel;

// G19. Netty loses the task without a word.
TEST_F(HashedWheelRejection, OfTheKthAffectsOnlyThatTask) {
    constexpr int kTasks = 100;
    std::size_t told = 0;
    for (bool const throws : {true, false}) {
        for (int kth = 1; kth <= kTasks; ++kth) {
            SCOPED_TRACE(testing::Message() << (throws ? "throws at " : "drops ") << kth);
            FailureLog heard;
            RefusesTheKth executor{kth, throws};
            auto const witness = std::make_shared<int>();
            CountOfEach runs{kTasks};
            HashedWheelTimer timer{options({.tick = 1ms,
                                            .executor = executor,
                                            .maxPendingTimeouts = kTasks,
                                            .errorHandler = heard.handler()})};
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
            ASSERT_EQ(heard.count(), 1U);
            EXPECT_EQ(heard.entries()[0].kind, TaskFailure::Kind::rejected);
            EXPECT_EQ(heard.entries()[0].what,
                      throws ? "full at " + std::to_string(kth) : std::string{});
            EXPECT_TRUE(heard.entries()[0].timeout.isRejected());
            EXPECT_EQ(timer.pendingTimeouts(), 0U);
            for (int i = 0; i < kTasks; ++i) timer.newTimeout([] {}, 1h);  // all places are free
            EXPECT_THROW(timer.newTimeout([] {}, 1h), RejectedExecution);
            told += heard.count();
        }
    }
    figure("G19", "rejected and told of, k = 1 to 100 in two ways, HashedWheelTimer", told,
           exactly(2 * kTasks));
}

// An executor may itself say that it is full.
TEST_F(HashedWheelRejection, OfEveryTaskLeavesATimerThatGoesOn) {
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
