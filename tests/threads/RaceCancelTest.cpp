#include "CancelRaces.h"

#include <support/Effort.h>
#include <support/Executors.h>
#include <support/ThreadPool.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <thread>
#include <utility>
#include <vector>

// Shows G4.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

// Bug pattern: a task runs after cancel() returned true.
TEST(RaceCancel, OneOfTwoCancelsAndTheExpiryWins) {
    Watchdog const watchdog{"cancel against cancel against expiry"};
    CancelRace{0, Rival::cancel}.run(rounds(20'000, 1'000'000));
    CancelRace{2, Rival::cancel}.run(rounds(20'000, 1'000'000));
}

TEST(RaceCancel, RescheduleLaterAgainstCancelAndExpiryHasOneOutcome) {
    Watchdog const watchdog{"cancel against a later reschedule"};
    CancelRace{0, Rival::rescheduleLater}.run(rounds(20'000, 1'000'000));
    CancelRace{2, Rival::rescheduleLater}.run(rounds(10'000, 1'000'000));
}

TEST(RaceCancel, RescheduleEarlierAgainstCancelAndExpiryHasOneOutcome) {
    Watchdog const watchdog{"cancel against an earlier reschedule"};
    CancelRace{0, Rival::rescheduleEarlier}.run(rounds(20'000, 1'000'000));
    CancelRace{2, Rival::rescheduleEarlier}.run(rounds(10'000, 1'000'000));
}

TEST(RaceCancel, WinsWhileTheTaskWaitsInAnExecutor) {
    Watchdog const watchdog{"cancel in an executor's queue"};
    HoldingExecutor executor;
    SystemTimer timer{{.executor = executor}};
    std::atomic<int> ran{0};
    std::vector<Timeout> timeouts;
    for (int i = 0; i < 100; ++i) timeouts.push_back(timer.newTimeout([&ran] { ++ran; }, 0ms));
    executor.waitFor(100);
    EXPECT_EQ(timer.pendingTimeouts(), 100U);

    for (std::size_t i = 0; i < 100; i += 2) EXPECT_TRUE(timeouts[i].cancel());
    std::deque<Claim> claims = executor.takeAll();
    together(2, [&](std::size_t half) {
        for (std::size_t i = half; i < claims.size(); i += 2) claims[i]();
    });

    EXPECT_EQ(ran, 50);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(timeouts[i].isExpired(), i % 2 == 1);
}

// G5
TEST(RaceCancel, CancelAndWaitLetsWhatTheTaskUsesDie) {
    Watchdog const watchdog{"cancelAndWait"};
    raceCancelAndWait(0, rounds(20'000, 1'000'000));
    raceCancelAndWait(2, rounds(20'000, 1'000'000));
}

// G5
TEST(RaceCancel, CancelAndWaitFromInsideTheTaskReturns) {
    Watchdog const watchdog{"cancelAndWait from inside the task"};
    for (std::size_t const threads : {0U, 1U, 2U}) {
        Runners runners{threads};
        SystemTimer timer{runners.options()};
        std::promise<bool> result;
        timer.newTimeout([&result](Timeout const& self) { result.set_value(self.cancelAndWait()); },
                         0ms);
        EXPECT_FALSE(result.get_future().get());

        std::promise<bool> periodicResult;
        Timeout const periodic = timer.scheduleAtFixedRate(
            [&periodicResult](Timeout const& self) {
                periodicResult.set_value(self.cancelAndWait());
            },
            0ms, 1ms);
        EXPECT_TRUE(periodicResult.get_future().get());
        EXPECT_FALSE(periodic.cancelAndWait());
        EXPECT_TRUE(periodic.isCancelled());
    }
}

/// Knows how many tasks were handed to the executor.
class DispatchCounter final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        if (event.stage == TimerEvent::Stage::dispatch) ++dispatched;
    }
    std::atomic<int> dispatched{0};
};

// G5
TEST(RaceCancel, CancelAndWaitForAQueuedTaskReturnsOnAnExecutorWithOneThread) {
    Watchdog const watchdog{"cancelAndWait on the only thread"};
    Runners runners{1};
    DispatchCounter counter;
    TimerOptions options = runners.options();
    options.observer = &counter;
    SystemTimer timer{options};
    std::promise<void> begun;
    std::promise<bool> result;
    std::promise<Timeout> other;
    std::atomic<int> ran{0};
    timer.newTimeout(
        [&, handle = other.get_future()]() mutable {
            begun.set_value();
            result.set_value(handle.get().cancelAndWait());
        },
        0ms);
    begun.get_future().wait();
    Timeout const queued = timer.newTimeout([&ran] { ++ran; }, 0ms);
    waitUntil([&counter] { return counter.dispatched == 2; });
    other.set_value(queued);
    EXPECT_TRUE(result.get_future().get());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(ran, 0);
}

// G5
// What is cancelled during its run wins at once, and is waited for all the same.
TEST(RaceCancel, CancelAndWaitWaitsForThePeriodicRunThatItCancels) {
    Watchdog const watchdog{"cancelAndWait of a periodic task that runs"};
    SystemTimer timer;
    std::promise<void> begun;
    std::atomic<bool> hasEnded{false};
    Timeout const timeout = timer.scheduleAtFixedRate(
        [&] {
            begun.set_value();
            std::this_thread::sleep_for(20ms);
            hasEnded = true;
        },
        0ms, 1h);
    begun.get_future().wait();
    EXPECT_TRUE(timeout.cancelAndWait());
    EXPECT_TRUE(hasEnded);
}

/// A capture that takes its time to die.
class SlowToDie {
public:
    SlowToDie(std::promise<void>& dying, std::atomic<bool>& isDead)
        : dying_{&dying}, isDead_{&isDead} {}
    SlowToDie(SlowToDie&& other) noexcept
        : dying_{std::exchange(other.dying_, nullptr)}, isDead_{other.isDead_} {}
    SlowToDie& operator=(SlowToDie&&) = delete;
    ~SlowToDie() {
        if (dying_ == nullptr) return;
        dying_->set_value();
        std::this_thread::sleep_for(20ms);
        *isDead_ = true;
    }
    void operator()() const {}

private:
    std::promise<void>* dying_;
    std::atomic<bool>* isDead_;
};

// G5
// The second to cancel returned while the first was still destroying what the task had captured.
TEST(RaceCancel, CancelAndWaitWaitsForAnotherThreadsCancel) {
    Watchdog const watchdog{"cancelAndWait beside a cancel"};
    std::promise<void> dying;
    std::atomic<bool> isDead{false};
    SystemTimer timer;
    Timeout const timeout = timer.newTimeout(SlowToDie{dying, isDead}, 1h);
    std::thread other{[timeout] { EXPECT_TRUE(timeout.cancel()); }};
    dying.get_future().wait();
    EXPECT_FALSE(timeout.cancelAndWait());
    EXPECT_TRUE(isDead);
    other.join();
}

// G5
// What the task captured is part of its run.
TEST(RaceCancel, CancelAndWaitWaitsForTheCapturesOfARunThatIsOver) {
    Watchdog const watchdog{"cancelAndWait while captures die"};
    std::promise<void> dying;
    std::atomic<bool> isDead{false};
    SystemTimer timer;
    Timeout const timeout = timer.newTimeout(SlowToDie{dying, isDead}, 0ms);
    dying.get_future().wait();
    EXPECT_FALSE(timeout.cancelAndWait());
    EXPECT_TRUE(isDead);
}

}  // namespace
}  // namespace timingwheel::test
