// A SystemTimer and two or three threads: all that may happen, with so many departures
// from the plain course of things.

#include "Scenario.h"
#include "Trial.h"

#include <timingwheel/ManualClock.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

using SystemTrial = Trial<SystemTimer>;

TEST(SystemTimerInterleavings, ADriverThatIsAboutToSleepSeesWhatIsScheduled) {
    expectAll("G2", "interleavings of a driver that falls asleep and a schedule that are late", [] {
        SystemTrial trial;
        trial.schedule(std::chrono::hours{1});
        std::thread other{[&] { trial.schedule(milliseconds{2}); }};
        other.join();
        std::this_thread::sleep_for(milliseconds{5});
        trial.end();
    });
}

TEST(SystemTimerInterleavings, WhatIsAcceptedWhileATimerStopsHasOneOutcome) {
    expectAll("G10", "interleavings of stop() and schedule with a timeout lost", [] {
        SystemTrial trial;
        trial.schedule(milliseconds{1});
        std::thread other{[&] { trial.schedule(milliseconds{1}); }};
        trial.stop();
        other.join();
        trial.end();
    });
}

TEST(SystemTimerInterleavings, StopReachesADriverThatIsAboutToSleep) {
    expectAll("G10", "interleavings of stop() and a driver that falls asleep that hang", [] {
        SystemTrial trial;
        trial.timer().start();
        trial.end();
    });
}

TEST(SystemTimerInterleavings, OneOfTwoCallersOfStopGetsWhatWasPending) {
    expectAll("G10", "interleavings of two stop() that return a timeout twice or never", [] {
        SystemTrial trial;
        trial.schedule(std::chrono::hours{1});
        std::thread other{[&] { trial.stop(); }};
        trial.stop();
        trial.books.stopped();
        other.join();
        trial.end();
    });
}

TEST(SystemTimerInterleavings, ATimeoutIsEitherCancelledOrRun) {
    expectAll("G4", "interleavings of cancel() and expiry with two outcomes or none", [] {
        SystemTrial trial;
        Timeout const timeout = trial.schedule(milliseconds{1});
        std::thread other{[&] { trial.cancel(0, timeout); }};
        std::this_thread::sleep_for(milliseconds{1});
        other.join();
        trial.end();
    });
}

TEST(SystemTimerInterleavings, OneOfTwoCancelsWins) {
    expectAll("G4", "interleavings of two cancel() that both win or both lose", [] {
        SystemTrial trial;
        Timeout const timeout = trial.schedule(std::chrono::hours{1});
        std::thread other{[&] { trial.cancel(0, timeout); }};
        trial.cancel(0, timeout);
        other.join();
        require(timeout.isCancelled(), "no cancel() won");
        trial.end();
    });
}

TEST(SystemTimerInterleavings, AfterCancelAndWaitNothingRuns) {
    expectAll("G5", "interleavings of cancelAndWait() and a run that goes on after it", [] {
        SystemTrial trial;
        Timeout const timeout = trial.schedule(milliseconds{1});
        std::thread other{[&] { trial.cancelAndWait(0, timeout); }};
        std::this_thread::sleep_for(milliseconds{1});
        other.join();
        trial.end();
    });
}

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

TEST(SystemTimerInterleavings, HandlesMayGoWheneverTheyLike) {
    expectAll("G11", "interleavings of handles that go with memory lost or used again", [] {
        SystemTrial trial;
        Timeout timeout = trial.schedule(milliseconds{1});
        std::thread other{[copy = timeout] { copy.cancel(); }};
        timeout = Timeout{};
        other.join();
        trial.destroy();
    });
}

TEST(SystemTimerInterleavings, HandlesMayBeUsedWhileTheTimerGoes) {
    expectAll("G11", "interleavings of a handle and the end of its timer with memory used again",
              [] {
                  SystemTrial trial;
                  Timeout timeout = trial.schedule(std::chrono::hours{1});
                  std::thread other{[copy = timeout] {
                      copy.cancel();
                      static_cast<void>(copy.remaining());
                      static_cast<void>(copy.timer());
                  }};
                  timeout = Timeout{};
                  trial.destroy();
                  other.join();
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

TEST(SystemTimerInterleavings, ATaskMayDestroyItsTimerAndOthersWhatTheTimerUsed) {
    expectAll("G8", "interleavings of a task that destroys its timer with memory used again", [] {
        destroyFromATask<SystemTimer>([](Clock& clock, TimerObserver& observer) {
            return TimerOptions{
                .tick = milliseconds{1}, .clock = clock, .shards = 1, .observer = &observer};
        });
    });
}

TEST(SystemTimerInterleavings, WhatWaitsForAnExecutorCanBeCancelled) {
    expectAll("G4", "interleavings of cancel() and an executor with two outcomes or none", [] {
        Pool pool{1, 0, Dice{0}};
        SystemTrial trial{Executor{pool}};
        Timeout const timeout = trial.schedule(Duration{});
        trial.cancel(0, timeout);
        trial.end();
    });
}

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

}  // namespace
}  // namespace timingwheel::test::simulation
