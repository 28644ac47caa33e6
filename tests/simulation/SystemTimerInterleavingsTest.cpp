// What only a SystemTimer does, with two or three threads: all that may happen, with so many
// departures from the plain course of things.

#include "Trial.h"

#include <support/Executors.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

using SystemTrial = Trial<SystemTimer>;

// G1
TEST(SystemTimerInterleavings, APushBackThatSucceededHolds) {
    expectAll("G1", "interleavings of a push-back and expiry with an early run", [] {
        SystemTrial trial;
        Timeout const timeout = trial.schedule(milliseconds{1});
        trial.reschedule(0, timeout, milliseconds{1});  // from now on they need no lock
        std::thread other{[&] { trial.reschedule(0, timeout, milliseconds{3}); }};
        std::this_thread::sleep_for(milliseconds{1});
        other.join();
        std::this_thread::sleep_for(milliseconds{5});
        trial.end();
    });
}

// G4
TEST(SystemTimerInterleavings, APushBackAndACancelAgree) {
    expectAll("G4", "interleavings of a push-back and cancel() with two outcomes or none", [] {
        SystemTrial trial;
        Timeout const timeout = trial.schedule(milliseconds{1});
        trial.reschedule(0, timeout, milliseconds{1});
        std::thread other{[&] { trial.reschedule(0, timeout, milliseconds{2}); }};
        trial.cancel(0, timeout);
        other.join();
        std::this_thread::sleep_for(milliseconds{4});
        trial.end();
    });
}

/// Touches its members in its task, which its destructor has to wait for.
class Session {
public:
    bool isPending() const { return hook.isPending(); }

private:
    void expire() { ++runs_; }
    int runs_ = 0;

public:
    TimerHook<&Session::expire> hook{*this};
};

/// Counts its runs, and says when the last was due.
class Beat {
public:
    int runs() const { return runs_; }

private:
    void run() { ++runs_; }
    std::atomic<int> runs_{0};

public:
    TimerHook<&Beat::run> hook{*this};
};

// G4
TEST(SystemTimerInterleavings, AScheduleMovesAHookOrRevivesIt) {
    expectAll("G4", "interleavings of a schedule and the expiry with a run too many or too few",
              [] {
                  SystemTrial trial;
                  Beat beat;
                  trial.timer().schedule(beat.hook, milliseconds{1});
                  std::this_thread::sleep_for(milliseconds{1});
                  trial.timer().schedule(beat.hook, milliseconds{3});
                  while (beat.hook.isPending()) std::this_thread::sleep_for(milliseconds{1});
                  static_cast<void>(beat.hook.cancelAndWait());
                  std::uint64_t const moved = trial.timer().statistics().rescheduled;
                  require(moved <= 1, "it moved twice");
                  require(beat.runs() == (moved == 1 ? 1 : 2), "a run is lost, or comes twice");
                  trial.end();
              });
}

// G4
TEST(SystemTimerInterleavings, OfTwoThreadsThatScheduleANewHookOneMovesIt) {
    for (bool const isBatch : {false, true}) {
        expectAll(
            "G4", "interleavings of two schedules of a new hook with two runs or none",
            [isBatch] {
                TimerOptions options = smallOptions<SystemTimer>();
                options.shards = 2;  // one for each thread
                options.maxPendingTimeouts = 1;
                SystemTimer timer{options};
                Beat beat;
                std::thread other{[&] { timer.schedule(beat.hook, std::chrono::hours{1}); }};
                TimerHookBase* const batch[]{&beat.hook};
                if (isBatch)
                    timer.schedule(batch, std::chrono::hours{2});
                else
                    timer.schedule(beat.hook, std::chrono::hours{2});
                other.join();
                TimerStatistics const statistics = timer.statistics();
                require(statistics.scheduled == 1 && statistics.rescheduled == 1 &&
                            statistics.pending == 1,
                        "it does not count once");
                require(beat.hook.cancel(), "it is not pending");
                static_cast<void>(timer.stop());
            },
            1);  // a departure is enough, and two are many
    }
}

// G18
TEST(SystemTimerInterleavings, WhatHasMadeRoomIsNotPending) {
    expectAll("G18", "interleavings of a run and a schedule with more pending than may be", [] {
        TimerOptions options = smallOptions<SystemTimer>();
        options.maxPendingTimeouts = 1;
        SystemTimer timer{options};
        timer.newTimeout([] { std::this_thread::sleep_for(milliseconds{9}); }, milliseconds{1});
        std::this_thread::sleep_for(milliseconds{5});
        try {
            timer.newTimeout([] {}, std::chrono::hours{1});
        } catch (RejectedExecution const&) {
            // The first has not begun yet.
        }
        require(timer.pendingTimeouts() <= 1, "both are pending");
        static_cast<void>(timer.stop());
    });
}

// G3
TEST(SystemTimerInterleavings, AHookThatWasRefusedIsOfOneShard) {
    expectAll(
        "G3", "interleavings of a refused first schedule, another and a cancel with two shards",
        [] {
            TimerOptions options = smallOptions<SystemTimer>();
            options.shards = 2;  // one for each thread that schedules
            options.maxPendingTimeouts = 1;
            SystemTimer timer{options};
            Beat first;
            Beat beat;
            timer.schedule(first.hook, std::chrono::hours{1});
            std::thread refused{[&] {
                try {
                    timer.schedule(beat.hook, std::chrono::hours{1});
                } catch (RejectedExecution const&) {
                    // The other one is pending yet.
                }
            }};
            std::thread cancels{[&] { static_cast<void>(beat.hook.cancel()); }};
            require(first.hook.cancel(), "the first is not pending");
            timer.schedule(beat.hook, std::chrono::hours{2});
            refused.join();
            cancels.join();
            require(timer.pendingTimeouts() == (beat.hook.isPending() ? 1 : 0), "miscounted");
            timer.checkInvariants();
            static_cast<void>(timer.stop());
        },
        2);
}

// G4
TEST(SystemTimerInterleavings, AScheduleAndACancelAgree) {
    expectAll("G4",
              "interleavings of a schedule and cancel() that leave another state than one of them",
              [] {
                  SystemTrial trial;
                  Beat beat;
                  trial.timer().schedule(beat.hook, std::chrono::hours{1});
                  bool isCancelled = false;
                  std::thread other{[&] { isCancelled = beat.hook.cancel(); }};
                  trial.timer().schedule(beat.hook, std::chrono::hours{2});
                  other.join();
                  TimerStatistics const statistics = trial.timer().statistics();
                  require(isCancelled, "it was pending all the time");
                  require(statistics.scheduled == statistics.pending + 1, "miscounted");
                  require(beat.hook.isPending() == (statistics.rescheduled == 0),
                          "a schedule that came last is lost");
                  require(beat.hook.cancel() == (statistics.rescheduled == 0), "no truth");
                  trial.end();
              });
}

// G5
TEST(SystemTimerInterleavings, AHooksObjectMayGoWhileItsTaskRuns) {
    expectAll("G5", "interleavings of a hook's end and its run with memory used again", [] {
        SystemTrial trial;
        auto session = std::make_unique<Session>();
        trial.timer().schedule(session->hook, milliseconds{1});
        std::this_thread::sleep_for(milliseconds{1});
        session.reset();
        trial.end();
    });
}

// G8
// Bug pattern: the reschedule of a batch counts push-backs in a timer that is gone.
TEST(SystemTimerInterleavings, AHooksTaskMayDestroyItsTimerWhileABatchIsRescheduled) {
    expectAll("G8", "interleavings of a batch's end and its timer's with dead memory used", [] {
        std::atomic<bool> isGone = false;
        auto* const owner = new Owner<SystemTimer>{isGone};
        owner->timer.schedule(owner->hook, Duration::max());
        TimerHookBase* const batch[]{&owner->hook};
        require(owner->timer.reschedule(batch, milliseconds{0}) == 1, "it is pending");
        Owner<SystemTimer>::await(isGone);
    });
}

// G8
// Bug pattern: a cancel() unlocks what the end of the run that it cancels has destroyed.
TEST(SystemTimerInterleavings, WhatTheCancelOfARunEndsMayOwnTheHandleAndTheTimer) {
    struct Task {
        void operator()() const { std::this_thread::sleep_for(milliseconds{2}); }
        void cancelled(Timeout const&) const noexcept { owner->end(); }
        Owner<SystemTimer>* owner;
    };
    for (bool const isAll : {false, true})
        expectAll("G8", "interleavings of a run's cancel and its timer's end in dead memory", [=] {
            std::atomic<bool> isGone = false;
            auto* const owner = new Owner<SystemTimer>{isGone};
            owner->timeout =
                owner->timer.scheduleAtFixedRate(Task{owner}, milliseconds{1}, milliseconds{9});
            std::this_thread::sleep_for(milliseconds{3});
            bool const isCancelled =
                isAll ? owner->timer.cancelAll() == 1 : owner->timeout.cancel();
            require(isCancelled, "nobody else cancels");
            Owner<SystemTimer>::await(isGone);
        });
}

// G8
// Bug pattern: a call unlocks what the task has destroyed. It rings for nobody, as the driver comes
// anyway.
TEST(SystemTimerInterleavings, ATaskMayDestroyItsTimerWhileTheCallThatSetItUnlocks) {
    for (bool const isHook : {false, true})
        expectAll("G8", "interleavings of a call's end and its timer's in dead memory", [isHook] {
            ManualClock clock;
            std::atomic<bool> isGone = false;
            auto* const owner = new Owner<SystemTimer>{isGone, clock};
            owner->timer.newTimeout([] {}, milliseconds{1});
            if (!isHook)
                owner->timeout =
                    owner->timer.newTimeout([owner] { owner->end(); }, milliseconds{9});
            std::thread other{[&] { clock.advance(milliseconds{1}); }};
            if (isHook)
                owner->timer.schedule(owner->hook, milliseconds{1});
            else
                require(owner->timer.reschedule(owner->timeout, milliseconds{1}), "it is pending");
            other.join();
            clock.advance(milliseconds{1});
            require(isGone, "it is due");
        });
}

// G8
// Bug pattern: a push-back counts when the entry has moved. It takes no lock, so the task may run
// in between.
TEST(SystemTimerInterleavings, ATaskMayDestroyItsTimerWhileAPushBackReturns) {
    for (bool const isHook : {false, true})
        expectAll("G8", "interleavings of a push-back's end and its timer's in dead memory", [=] {
            ManualClock clock;
            std::atomic<bool> isGone = false;
            auto* const owner = new Owner<SystemTimer>{isGone, clock};
            if (isHook)
                owner->timer.schedule(owner->hook, milliseconds{1});
            else
                owner->timeout =
                    owner->timer.newTimeout([owner] { owner->end(); }, milliseconds{1});
            auto const moveTo = [=](milliseconds delay) {
                require(isHook ? owner->hook.reschedule(delay)
                               : owner->timer.reschedule(owner->timeout, delay),
                        "it is pending");
            };
            auto const deadline = [=] {
                return isHook ? owner->hook.deadline() : owner->timeout.deadline();
            };
            moveTo(milliseconds{2});  // from now on without the lock
            std::thread other{[&clock, deadline] {
                while (deadline() < Clock::TimePoint{milliseconds{3}})
                    std::this_thread::sleep_for(milliseconds{1});
                clock.advance(milliseconds{3});
            }};
            moveTo(milliseconds{3});
            other.join();
            require(isGone, "it is due");
        });
}

// G8
// Bug pattern: a batch goes on with the timer that the task of its first hook has destroyed.
TEST(SystemTimerInterleavings, AHooksTaskMayDestroyItsTimerWhileABatchIsScheduled) {
    expectAll("G8", "interleavings of a batch's rest and its timer's end in dead memory", [] {
        std::atomic<bool> isGone = false;
        auto* const owner = new Owner<SystemTimer>{isGone};
        Session second;
        TimerHookBase* const batch[]{&owner->hook, &second.hook};
        try {
            owner->timer.schedule(batch, milliseconds{0});
        } catch (std::logic_error const&) {
            // The timer has stopped before the second was its turn.
        }
        Owner<SystemTimer>::await(isGone);
    });
}

// G8
// Bug pattern: a drain() looks at what the last task has destroyed.
TEST(SystemTimerInterleavings, ATaskMayDestroyItsTimerWhileADrainWaitsForIt) {
    expectAll("G8", "interleavings of a drain() and its timer's end in dead memory", [] {
        std::atomic<bool> isGone = false;
        auto* const owner = new Owner<SystemTimer>{isGone};
        owner->timer.newTimeout([owner] { owner->end(); }, milliseconds{5});
        owner->timer.drain();
        Owner<SystemTimer>::await(isGone);
    });
}

// G11
// Bug pattern: a cancel() of the run that has destroyed its timer makes a share of what is gone,
// and gives it back for the handle.
TEST(SystemTimerInterleavings, ARunThatHasDestroyedItsTimerCanBeCancelled) {
    for (bool const isInside : {false, true})
        expectAll("G11", "interleavings of a cancel() and a run without a timer in dead memory",
                  [=] {
                      std::atomic<bool> isGone = false;
                      auto* const owner = new Owner<SystemTimer>{isGone};
                      auto const task = [=](Timeout const& self) {
                          owner->end();
                          if (isInside) self.cancel();
                          std::this_thread::sleep_for(milliseconds{3});
                      };
                      Timeout const timeout =
                          owner->timer.scheduleAtFixedRate(task, milliseconds{1}, milliseconds{9});
                      Owner<SystemTimer>::await(isGone);
                      if (!isInside) timeout.cancel();
                      timeout.cancelAndWait();
                      require(timeout.isCancelled() && timeout.timer() == nullptr, "no answer");
                  });
}

// Bug pattern: a push-back counts before its compare-and-set, and again when that has lost.
TEST(SystemTimerInterleavings, APushBackThatTriesAgainCountsOnce) {
    auto const body = [] {
        Session session;
        SystemTimer timer{smallOptions<SystemTimer>()};
        timer.schedule(session.hook, std::chrono::hours{1});
        session.hook.reschedule(std::chrono::hours{1});  // from now on without the lock
        std::thread other{[&] { session.hook.reschedule(std::chrono::hours{2}); }};
        session.hook.reschedule(std::chrono::hours{2});
        other.join();
        require(timer.statistics().rescheduled == 3, "each counts once");
    };
    EXPECT_EQ(tryAll(1, 2'000'000, body).failed, 0U);
}

TEST(SystemTimerInterleavings, AHookMayBeAskedWhileItIsScheduledForTheFirstTime) {
    expectAll("G11",
              "interleavings of a hook's first schedule and a question with a timer half made", [] {
                  Session session;
                  Clock::TimePoint seen;
                  // The hook is all by which the other thread can come to know the timer.
                  std::thread other{[&] { seen = session.hook.deadline(); }};
                  SystemTrial trial;
                  trial.timer().schedule(session.hook, std::chrono::hours{1});
                  other.join();
                  require(seen == Clock::TimePoint::max() || seen <= session.hook.deadline(),
                          "the deadline is neither that one nor never");
                  require(session.hook.cancel(), "the hook is not pending");
                  trial.end();
              });
}

// G4
TEST(SystemTimerInterleavings, WhatWaitsForAnExecutorCanBeCancelled) {
    expectAll("G4", "interleavings of cancel() and an executor with two outcomes or none", [] {
        ThreadExecutor threads;
        SystemTrial trial{Executor{threads}};
        Timeout const timeout = trial.schedule(Duration{});
        trial.cancel(0, timeout);
        trial.end();
    });
}

// G15
TEST(SystemTimerInterleavings, AManualClockMovesOnWhenAllThatIsDueHasRun) {
    expectAll("G15", "interleavings of a ManualClock and a driver that leave something undone", [] {
        ManualClock clock;
        SystemTimer timer{TimerOptions{.tick = milliseconds{1}, .clock = clock, .shards = 1}};
        int runs = 0;
        auto const task = [&] {
            require(clock.now().time_since_epoch() == milliseconds{1}, "the clock moves meanwhile");
            ++runs;
        };
        Timeout const first = timer.newTimeout(task, milliseconds{1});
        std::thread other{[&] { timer.newTimeout([] {}, std::chrono::hours{1}); }};
        clock.advance(milliseconds{2});
        require(runs == 1, "the clock moved on");
        other.join();
    });
}

// G15
TEST(SystemTimerInterleavings, AManualClockMovesOnWhenTheClaimThatItWaitsForHasDied) {
    expectAll("G15", "interleavings of a ManualClock and a claim that dies unrun with a hang", [] {
        ManualClock clock;
        HoldingExecutor holder;
        TimerOptions options{.tick = milliseconds{1}, .clock = clock, .executor = holder};
        options.errorHandler = [](TaskFailure const&) {};
        options.shards = 1;
        SystemTimer timer{options};
        Timeout const timeout = timer.newTimeout([] {}, milliseconds{1});
        std::thread other{[&] {
            holder.waitFor(1);
            holder.dropAll();
        }};
        clock.advance(milliseconds{2});
        require(timeout.isRejected(), "the clock moved on");
        other.join();
    });
}

// G15
TEST(SystemTimerInterleavings, AClockMayBeSetBackWhileAnotherThreadSchedules) {
    expectAll("G15", "interleavings of a clock that is set back and a schedule with a race", [] {
        ManualClock clock{Clock::TimePoint{milliseconds{9}}, Clock::Kind::wall};
        SystemTimer timer{TimerOptions{.tick = milliseconds{1}, .clock = clock, .shards = 1}};
        std::atomic<int> runs{0};
        timer.newTimeout([&] { ++runs; }, milliseconds{1});
        std::thread other{[&] { timer.newTimeout([&] { ++runs; }, milliseconds{1}); }};
        clock.jumpTo(Clock::TimePoint{milliseconds{7}});
        other.join();
        clock.advance(milliseconds{9});
        require(runs == 2, "the clock moved on");
    });
}

TEST(SystemTimerInterleavings, WhoAdvancesAManualClockSeesWhatAnExecutorsThreadHasDone) {
    expectAll("G15", "interleavings of a ManualClock and an executor with what was done unseen",
              [] {
                  ManualClock clock;
                  ThreadExecutor threads;
                  SystemTimer timer{TimerOptions{
                      .tick = milliseconds{1}, .clock = clock, .executor = threads, .shards = 1}};
                  auto const runs = std::make_unique<int>(0);  // races are seen on the heap
                  timer.newTimeout([&] { ++*runs; }, milliseconds{1});
                  clock.advance(milliseconds{1});
                  require(*runs == 1, "the clock moved on");
              });
}

TEST(SystemTimerInterleavings, AHookMovesToAnotherTimerOrItsTaskRuns) {
    expectAll("G11", "interleavings of a hook's run and its schedule on another timer with a race",
              [] {
                  SystemTrial trial;
                  SystemTimer other{smallOptions<SystemTimer>()};
                  auto session = std::make_unique<Session>();
                  trial.timer().schedule(session->hook, milliseconds{1});
                  std::this_thread::sleep_for(milliseconds{1});
                  try {
                      other.schedule(session->hook, milliseconds{1});
                  } catch (std::logic_error const&) {
                      // It is pending yet, or its task runs.
                  }
                  session.reset();
                  trial.end();
              });
}

// G8
// After each run, after the clock was set back by hours, and at the end of the series, where its
// captures go.
TEST(SystemTimerInterleavings, ASeriesIsComputedWithNoLockHeld) {
    expectAll(
        "G8", "calls of a series' function under a lock",
        [] {
            ManualClock clock{Clock::TimePoint{std::chrono::hours{9}}, Clock::Kind::wall};
            SystemTimer timer{TimerOptions{.tick = milliseconds{1}, .clock = clock, .shards = 1}};
            int calls = 0;
            auto const next = [&](Clock::TimePoint after) -> std::optional<Clock::TimePoint> {
                if (++calls > 1) askElsewhere(timer);
                if (calls == 4) return std::nullopt;
                return after + std::chrono::hours{1};
            };
            Timeout const series = timer.scheduleAtTimes([end = AsksAtItsEnd{timer}] {}, next);
            clock.advance(std::chrono::hours{1});
            require(calls == 2, "it ran once");
            clock.jump(std::chrono::hours{-5});
            std::this_thread::sleep_for(milliseconds{1});
            require(calls == 3, "it was corrected");
            clock.advance(std::chrono::hours{1});
            require(series.isExpired(), "it is over");
        },
        0);
}

TEST(SystemTimerInterleavings, LongTasksOfATickAreMeasuredOneByOne) {
    auto const body = [] {
        SystemTimer timer{smallOptions<SystemTimer>()};
        for (int i = 0; i < 2; ++i)
            timer.newTimeout([] { std::this_thread::sleep_for(milliseconds{3}); }, milliseconds{1});
        std::this_thread::sleep_for(milliseconds{9});
        static_cast<void>(timer.stop());
        auto const longest = timer.statistics().longestRun;
        require(longest >= milliseconds{3} && longest < milliseconds{4}, "it is the sum");
    };
    EXPECT_EQ(tryAll(0, 1, body).failed, 0U);
}

// G5
TEST(SystemTimerInterleavings, CancelAndWaitCancelsWhatTheRunHasScheduled) {
    struct Again {
        void run() {
            std::this_thread::sleep_for(milliseconds{3});
            timer.schedule(hook, milliseconds{1});
        }
        SystemTimer& timer;
        TimerHook<&Again::run> hook{*this};
    };
    expectAll("G5", "interleavings of a run that schedules its hook and a wait for it", [] {
        SystemTrial trial;
        Again again{trial.timer()};
        trial.timer().schedule(again.hook, milliseconds{1});
        std::this_thread::sleep_for(milliseconds{2});
        again.hook.cancelAndWait();
        require(!again.hook.isPending(), "it is pending after the wait");
        trial.end();
    });
}

// G5
TEST(SystemTimerInterleavings, CancelAndWaitWaitsUntilARejectionIsReported) {
    expectAll("G5", "interleavings of cancelAndWait() and a rejection that it leaves behind", [] {
        bool isReported = false;
        HoldingExecutor holder;
        TimerOptions options{.tick = milliseconds{1}, .executor = holder};
        options.errorHandler = [&isReported](TaskFailure const&) {
            std::this_thread::sleep_for(milliseconds{1});
            isReported = true;
        };
        options.shards = 1;
        SystemTimer timer{options};
        Timeout const timeout = timer.newTimeout([] {}, Duration{});
        holder.waitFor(1);
        std::thread other{[&] { holder.dropAll(); }};
        bool const isCancelled = timeout.cancelAndWait();
        require(isCancelled || isReported, "the handler still hears of what has ended");
        other.join();
    });
}

/// Counts the ends of timeouts.
class EndCounter final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        using Stage = TimerEvent::Stage;
        ends += event.stage == Stage::run || event.stage == Stage::cancel ? 1 : 0;
    }
    std::atomic<int> ends{0};
};

// G10
TEST(SystemTimerInterleavings, AnObserverHearsOfRunsThatStopWaitsFor) {
    expectAll("G10", "interleavings of stop() and a run that was not delivered", [] {
        EndCounter observer;
        ThreadExecutor threads;
        TimerOptions options{.tick = milliseconds{1}, .executor = threads};
        options.observer = &observer;
        options.shards = 1;
        SystemTimer timer{options};
        timer.newTimeout([] { std::this_thread::sleep_for(milliseconds{2}); }, Duration{});
        std::this_thread::sleep_for(milliseconds{1});
        static_cast<void>(timer.stop());
        require(observer.ends == 1, "of one timeout there is one end");
    });
}

// G11
// A pushed-back hook takes no lock, and the clock goes as soon as its timer has gone.
TEST(SystemTimerInterleavings, ATimerAndItsClockMayGoWhileAHookIsPushedBack) {
    expectAll("G11", "interleavings of a push-back and the end of timer and clock in dead memory",
              [] {
                  auto clock = std::make_unique<ManualClock>();
                  TimerOptions options{.tick = milliseconds{1}, .clock = *clock};
                  options.shards = 1;
                  auto timer = std::make_unique<SystemTimer>(options);
                  Session session;
                  timer->schedule(session.hook, milliseconds{1});
                  session.hook.reschedule(milliseconds{2});  // from now on without the lock
                  std::thread other{[&] {
                      session.hook.reschedule(milliseconds{5});
                      session.hook.reschedule(milliseconds{1});
                  }};
                  timer.reset();
                  clock.reset();
                  other.join();
                  require(!session.isPending(), "what was pending has been returned");
              });
}

// G11
TEST(SystemTimerInterleavings, ATimerAndItsClockMayGoWhileAHandleIsAsked) {
    expectAll(
        "G11", "interleavings of remaining() and the end of timer and clock in dead memory", [] {
            auto clock = std::make_unique<ManualClock>();
            TimerOptions options{.tick = milliseconds{1}, .clock = *clock};
            options.shards = 1;
            auto timer = std::make_unique<SystemTimer>(options);
            Timeout const timeout = timer->newTimeout([] {}, milliseconds{5});
            std::thread other{
                [&] { require(timeout.remaining() == milliseconds{5}, "what was left stays"); }};
            timer.reset();
            clock.reset();
            other.join();
        });
}

}  // namespace
}  // namespace timingwheel::test::simulation
