// What only a SystemTimer does, with two or three threads: all that may happen, with so many
// departures from the plain course of things.

#include "Trial.h"

#include <support/Executors.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

using SystemTrial = Trial<SystemTimer>;

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

TEST(SystemTimerInterleavings, WhatWaitsForAnExecutorCanBeCancelled) {
    expectAll("G4", "interleavings of cancel() and an executor with two outcomes or none", [] {
        ThreadExecutor threads;
        SystemTrial trial{Executor{threads}};
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
