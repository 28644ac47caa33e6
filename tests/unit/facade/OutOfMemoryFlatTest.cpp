// Every public call of HashedWheelTimer with too little memory, and its worker.

#include <support/HashedWheel.h>
#include <support/OutOfMemory.h>
#include <timingwheel/HashedWheelTimer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

using S = Scene<HashedWheelTimer>;
using Calls = std::vector<Call<S>>;

std::vector<TimerKind> kinds() {
    using Observer = TimerKind::Observer;
    return {{.name = "as it is"},
            {.name = "with a limit", .hasLimit = true},
            {.name = "that is observed", .observer = Observer::counts},
            {.name = "with a JSON trace", .observer = Observer::jsonLines},
            {.name = "with a Chrome trace", .observer = Observer::chrome},
            {.name = "with a pool", .hasPool = true}};
}

Calls schedules() {
    static constexpr auto run = &S::Object::run;
    auto const weak = [](S& s) { return std::weak_ptr<S::Object>{s.owned}; };
    return {
        {"newTimeout", [](S& s) { s.made = s.timer->newTimeout(s.task(), S::delay(5ms)); },
         ranOnceAt<S>(5ms)},
        {"newTimeout that is long",
         [](S& s) { s.made = s.timer->newTimeout(s.task(), S::delay(S::kFar)); },
         ranOnceAt<S>(S::kFar)},
        {"newTimeout that is over", [](S& s) { s.made = s.timer->newTimeout(s.task(), -1h); },
         ranOnceAt<S>(1ms)},
        {"newTimeout that is never due",
         [](S& s) { s.made = s.timer->newTimeout(s.task(), Duration::max()); },
         [](S& s) { s.expectRan(0, 0ms); }},
        {"newTimeout of a function that is copied",
         [](S& s) { s.made = s.timer->newTimeout(s.large, S::delay(5ms)); }, ranOnceAt<S>(5ms)},
        {"newTimeout of a TimerTask",
         [](S& s) { s.made = s.timer->newTimeout(s.taskObject, S::delay(5ms)); },
         [](S& s) {
             EXPECT_EQ(s.taskObject->runs, 1);
             s.taskObject->last = {};
             EXPECT_EQ(s.taskObject.use_count(), 1);
         }},
        {"newTimeout of an object's function",
         [weak](S& s) { s.made = s.timer->newTimeout(weak(s), run, S::delay(5ms)); },
         [](S& s) { EXPECT_EQ(s.owned->ranAt, 5ms); }},
        {"start of one that was started", [](S& s) { s.timer->start(); }, {}, false},
    };
}

/// On a timer that has no thread yet.
Calls firstCalls() {
    return {
        {"a first newTimeout", [](S& s) { s.made = s.timer->newTimeout(s.task(), S::delay(5ms)); },
         ranOnceAt<S>(5ms)},
        {"start", [](S& s) { s.timer->start(); }},
    };
}

/// On a timer that runs at once what is due.
Calls immediateRuns() {
    return {
        {"newTimeout that runs at once", [](S& s) { s.made = s.timer->newTimeout(s.task(), 0ms); },
         ranOnceAt<S>(0ms)},
        {"newTimeout that runs at once and throws",
         [](S& s) { s.made = s.timer->newTimeout([&s] { s.thrown(); }, -1h); },
         [](S& s) { EXPECT_TRUE(s.made.isDone()); }},
    };
}

/// On one that gives such tasks to a pool: without memory for its queue they are rejected.
Calls immediateRunsInAPool() {
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

Calls refusals() {
    using Invalid = std::invalid_argument;
    return {
        {"newTimeout of nothing",
         refused<Invalid, S>([](S& s) { s.timer->newTimeout(std::function<void()>{}, 5ms); })},
        {"newTimeout after NaN", refused<Invalid, S>([](S& s) {
             s.timer->newTimeout(s.task(), std::chrono::duration<double>{std::nan("")});
         })},
    };
}

Calls refusalsOnceStopped() {
    using L = std::logic_error;
    Calls calls{
        {"newTimeout once stopped",
         refused<L, S>([](S& s) { s.timer->newTimeout(s.task(), 5ms); })},
        {"start once stopped", refused<L, S>([](S& s) { s.timer->start(); })},
        {"stop once stopped", [](S& s) { EXPECT_TRUE(s.timer->stop().empty()); }, {}, false},
    };
    for (Call<S>& call : calls) {
        call.prepare = [](S& s) { s.stopped = s.timer->stop(); };
        call.expectDone = [](S& s) { s.expectReturned(); };
    }
    return calls;
}

Calls questions() {
    auto const cancelled = [](S& s) { s.planted[3].isExpected = false; };
    return {
        {"cancel",
         [=](S& s) {
             EXPECT_TRUE(s.planted[3].timeout.cancel());
             EXPECT_FALSE(s.planted[3].timeout.cancel());
             cancelled(s);
         },
         {},
         false},
        {"cancelAndWait",
         [=](S& s) {
             EXPECT_TRUE(s.planted[3].timeout.cancelAndWait());
             EXPECT_FALSE(s.planted[3].timeout.cancelAndWait());
             cancelled(s);
         },
         {},
         false},
        {"questions of a handle",
         [](S& s) {
             Timeout const t = s.planted[3].timeout;
             EXPECT_TRUE(t.isPending());
             EXPECT_FALSE(t.isExpired() || t.isDone() || t.isCancelled() || t.isReturned() ||
                          t.isRejected());
             EXPECT_EQ(t.deadline(), S::kStart + 9ms);
             EXPECT_EQ(t.remaining(), 9ms);
             EXPECT_EQ(t.timer(), s.timer.get());
             EXPECT_EQ(t.task(), nullptr);
             s.nowhere << t;
         },
         {},
         false},
        {"questions of a timer",
         [](S& s) {
             HashedWheelTimer const& timer = *s.timer;
             EXPECT_EQ(&timer.clock(), &s.clock);
             EXPECT_EQ(timer.name().size(), 11U);
             EXPECT_EQ(timer.tick(), S::kTick);
             EXPECT_EQ(timer.ticksPerWheel(), 8);
             EXPECT_EQ(timer.pendingTimeouts(), s.planted.size());
         },
         {},
         false},
        {"statistics",
         [](S& s) { EXPECT_EQ(s.timer->statistics().pending, s.planted.size()); },
         {},
         false},
    };
}

Calls endings() {
    auto const returned = [](S& s) { s.expectReturned(); };
    return {
        {"stop",
         [](S& s) {
             s.stopped = s.timer->stop();
             for (StoppedTimeout const& each : *s.stopped) EXPECT_TRUE(each.timeout().isReturned());
         },
         returned, false},
        {"the destructor", [](S& s) { s.timer.reset(); }, returned, false},
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
    Tried tried = tryAll(kinds(), schedules());
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
                firstCalls()),
         20);
    tellStarts<S>("HashedWheelTimer", firstCalls());
}

TEST(OutOfMemoryFlat, WhatIsRefusedChangesNothing) {
    Tried tried = tryAll(kinds(), refusals());
    tried += tryAll(kinds(), refusalsOnceStopped());
    tried += tryAll<S>({{.name = "at its limit", .hasLimit = true, .isFull = true}},
                       {{"newTimeout over the limit", refused<RejectedExecution, S>([](S& s) {
                             s.timer->newTimeout(s.task(), 5ms);
                         })}});
    tell("refusals, HashedWheelTimer", tried, 10);
}

// G16
TEST(OutOfMemoryFlat, CancelsAndQuestionsNeedNone) {
    tell("cancels and questions, HashedWheelTimer", tryAll(kinds(), questions()), 10);
}

// G16
TEST(OutOfMemoryFlat, TheEndNeedsNone) {
    tell("stop and destructor, HashedWheelTimer", tryAll(kinds(), endings()), 10);
}

// G16
TEST(OutOfMemoryFlat, TheWorkerLosesNothing) {
    std::vector<TimerKind> without = kinds();
    // What a pool does without memory is told in OutOfMemoryMakingTest.cpp.
    std::erase_if(without, [](TimerKind const& kind) { return kind.hasPool; });
    Tried const tried =
        tryAll<S>(without, {work("the worker's work", 10ms),
                            work("the worker's work for long", 50ms), visits(), cancelledOnes()});
    tell("the worker, HashedWheelTimer", tried, 100);
}

}  // namespace
}  // namespace timingwheel::test
