// Every public call of HashedWheelTimer with too little memory, and its worker. Those of all timers
// are in OutOfMemoryCalls.h.

#include "OutOfMemoryCalls.h"

#include <support/HashedWheel.h>
#include <support/OutOfMemory.h>
#include <timingwheel/HashedWheelTimer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

// Shows G16, G19.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

using S = Scene<HashedWheelTimer>;
using FlatCalls = std::vector<Call<S>>;

std::vector<TimerKind> kinds() {
    std::vector<TimerKind> all = kindsOfAnyTimer();
    all.push_back({.name = "with a pool", .hasPool = true});
    return all;
}

FlatCalls schedules() {
    return {
        {"newTimeout that is over", [](S& s) { s.made = s.timer->newTimeout(s.task(), -1h); },
         ranOnceAt<S>(1ms)},
        {"start of one that was started", [](S& s) { s.timer->start(); }, {}, false},
    };
}

/// On a timer that runs at once what is due.
FlatCalls immediateRuns() {
    return {
        {"newTimeout that runs at once", [](S& s) { s.made = s.timer->newTimeout(s.task(), 0ms); },
         ranOnceAt<S>(0ms)},
        {"newTimeout that runs at once and throws",
         [](S& s) { s.made = s.timer->newTimeout([&s] { s.thrown(); }, -1h); },
         [](S& s) { EXPECT_TRUE(s.made.isDone()); }},
    };
}

/// On one that gives such tasks to a pool: without memory for its queue they are rejected.
FlatCalls immediateRunsInAPool() {
    auto const run = [](S& s) {
        s.made = s.timer->newTimeout(s.task(), 0ms);
        if (!s.made.isRejected()) return;
        ++s.expectedRejections;
        ++s.expectedFailures;
    };
    auto const expectDone = [](S& s) {
        EXPECT_EQ(s.runs, s.made.isRejected() ? 0 : 1);
        EXPECT_EQ(s.witness.use_count(), 1);
    };
    return {{"newTimeout that runs at once in a pool", run, expectDone}};
}

FlatCalls questions() {
    return {
        {"ticksPerWheel", [](S& s) { EXPECT_EQ(s.timer->ticksPerWheel(), 8); }, {}, false},
        {"statistics",
         [](S& s) { EXPECT_EQ(s.timer->statistics().pending, s.planted.size()); },
         {},
         false},
    };
}

// ---- the worker --------------------------------------------------------------------------------

/// Lets the worker go without memory for `time`; what it cannot place waits, and is late by no more
/// than a tick once there is memory.
Call<S> work(char const* name, nanoseconds time) {
    auto const act = [time](S& s) {
        s.areTimesKept = false;
        s.clock.advance(time);
    };
    auto const expectDone = [time](S& s) {
        for (S::Planted const& each : s.planted) {
            EXPECT_GE(each.ranAt, each.due);
            EXPECT_LE(each.ranAt, std::max(each.due, time + S::kTick));
        }
    };
    return {name, act, expectDone, true, Threads::others};
}

/// The same for what was placed before: the visits to the slots need no memory.
Call<S> visits() {
    Call<S> call{
        "the worker's visits", [](S& s) { s.clock.advance(45ms); }, {}, false, Threads::others};
    call.prepare = [](S& s) { s.clock.advance(1ms); };
    return call;
}

/// And for what was cancelled.
Call<S> cancelledOnes() {
    Call<S> call{"the worker and what was cancelled",
                 [](S& s) {
                     s.cancelAll();
                     s.clock.advance(2ms);
                     EXPECT_EQ(s.timer->pendingTimeouts(), 0U);
                 },
                 {},
                 false,
                 Threads::others};
    call.prepare = [](S& s) { s.clock.advance(1ms); };
    return call;
}

// ---- the tests ---------------------------------------------------------------------------------

// G16
TEST(OutOfMemoryFlat, AScheduleSucceedsOrChangesNothing) {
    Tried tried = tryAll(kinds(), schedulesOfAnyTimer<S>());
    tried += tryAll(kinds(), schedules());
    tried +=
        tryAll({{.name = "that runs at once what is due", .runsDueAtOnce = true}}, immediateRuns());
    tried += tryAll({{.name = "that does so in a pool", .hasPool = true, .runsDueAtOnce = true}},
                    immediateRunsInAPool());
    tell("schedules, HashedWheelTimer", tried, 100);
}

// G16, G17
TEST(OutOfMemoryFlat, TheFirstCallStartsTheThreadOrChangesNothing) {
    tell("the thread's start, HashedWheelTimer",
         tryAll({{.name = "that is fresh", .isFresh = true},
                 {.name = "that is fresh, with a limit", .hasLimit = true, .isFresh = true}},
                firstCallsOfAnyTimer<S>()),
         20);
    tellStarts<S>("HashedWheelTimer", firstCallsOfAnyTimer<S>());
}

TEST(OutOfMemoryFlat, WhatIsRefusedChangesNothing) {
    Tried tried = tryAll(kinds(), refusalsOfAnyTimer<S>());
    tried += tryAll(kinds(), refusalsOnceStoppedOfAnyTimer<S>());
    tried += tryAll<S>({{.name = "at its limit", .hasLimit = true, .isFull = true}},
                       {{"newTimeout over the limit", refused<RejectedExecution, S>([](S& s) {
                             s.timer->newTimeout(s.task(), 5ms);
                         })}});
    tell("refusals, HashedWheelTimer", tried, 10);
}

// G16
TEST(OutOfMemoryFlat, CancelsAndQuestionsNeedNone) {
    Tried tried = tryAll(kinds(), cancelsOfAnyTimer<S>());
    tried += tryAll(kinds(), questionsOfAnyTimer<S>());
    tried += tryAll(kinds(), questions());
    tell("cancels and questions, HashedWheelTimer", tried, 10);
}

// G16
TEST(OutOfMemoryFlat, TheEndNeedsNone) {
    tell("stop and destructor, HashedWheelTimer", tryAll(kinds(), endingsOfAnyTimer<S>()), 10);
}

// G16
TEST(OutOfMemoryFlat, TheWorkerLosesNothing) {
    std::vector<TimerKind> without = kinds();
    // What a pool does without memory is shown in OutOfMemoryMakingTest.cpp.
    std::erase_if(without, [](TimerKind const& kind) { return kind.hasPool; });
    Tried const tried =
        tryAll<S>(without, {work("the worker's work", 10ms),
                            work("the worker's work for long", 50ms), visits(), cancelledOnes()});
    tell("the worker, HashedWheelTimer", tried, 100);
}

}  // namespace
}  // namespace timingwheel::test
