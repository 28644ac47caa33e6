#include "OutOfMemoryCalls.h"

#include <support/OutOfMemory.h>
#include <support/Receiver.h>
#include <support/TestTimers.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/Sleep.h>
#include <timingwheel/StopToken.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimedScheduler.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

// Shows G16.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Repeat = AllocationFailure::Repeat;

template <class T>
using Calls = std::vector<Call<Scene<T>>>;

template <class T>
std::vector<TimerKind> kinds() {
    std::vector<TimerKind> all = kindsOfAnyTimer();
    if constexpr (std::is_same_v<T, SystemTimer>) {
        all.push_back({.name = "with one shard", .hasLimit = true, .shards = 1});
        all.push_back({.name = "with a pool", .hasPool = true});
    }
    return all;
}

/// And with a bucket that is emptied by lanes. Where that makes a difference: it takes its time.
template <class T>
std::vector<TimerKind> kindsWithACrowd() {
    std::vector<TimerKind> all = kinds<T>();
    if constexpr (std::is_same_v<T, ManualTimer>)
        all.push_back({.name = "with a crowded bucket", .crowd = 33'000});
    return all;
}

/// The last run of a periodic task whose first one is at `due`.
template <class S>
auto ranPeriodically(nanoseconds due) {
    return [due](S& s) {
        int const times = static_cast<int>((S::kEnd - due) / S::kPeriod) + 1;
        s.expectRan(times, due + (times - 1) * S::kPeriod);
    };
}

/// The times of a series that begins at `first` and goes on by the period of periodic tasks.
template <class S>
auto timesFrom(nanoseconds first) {
    return [first](Clock::TimePoint after) {
        Clock::TimePoint const begin = S::at(first);
        return after < begin ? begin : after + S::kPeriod;
    };
}

// ---- schedule ----------------------------------------------------------------------------------

template <class T>
Calls<T> schedules() {
    using S = Scene<T>;
    struct alignas(128) Aligned {
        S* s;
        void operator()() { ++s->runs, s->ranAt = s->now(); }
    };
    return {
        {"newTimeout of a Timer",
         [](S& s) { s.made = static_cast<Timer&>(*s.timer).newTimeout(s.task(), S::delay(5ms)); },
         ranOnceAt<S>(5ms)},
        {"newTimeout with a tolerance",
         [](S& s) { s.made = s.timer->newTimeout(s.task(), S::delay(5ms), {.tolerance = 1ms}); },
         ranOnceAt<S>(5ms)},
        {"newTimeout with a tolerance, that needs levels",
         [](S& s) {
             s.made = s.timer->newTimeout(s.task(), S::delay(S::kFar), {.tolerance = 50ms});
         },
         ranOnceAt<S>(304ms)},
        {"newTimeout at a time", [](S& s) { s.made = s.timer->newTimeout(s.task(), S::at(5ms)); },
         ranOnceAt<S>(5ms)},
        {"newTimeout at a time, that needs levels",
         [](S& s) { s.made = s.timer->newTimeout(s.task(), S::at(S::kFar), {.tolerance = 1ms}); },
         ranOnceAt<S>(S::kFar)},
        {"newTimeout at a time that is over",
         [](S& s) { s.made = s.timer->newTimeout(s.task(), S::kStart - 1h); }, ranOnceAt<S>(0ms)},
        {"newTimeout of a large function",
         [](S& s) {
             s.made = s.timer->newTimeout(
                 [task = s.task(), room = std::array<char, 512>{}]() mutable {
                     static_cast<void>(room);
                     task();
                 },
                 S::delay(5ms));
         },
         ranOnceAt<S>(5ms)},
        {"newTimeout of a function that is aligned",
         [](S& s) { s.made = s.timer->newTimeout(Aligned{&s}, S::delay(5ms)); }, ranOnceAt<S>(5ms)},
    };
}

/// More of them: those with an object that may die, and periodic ones.
template <class T>
Calls<T> moreSchedules() {
    using S = Scene<T>;
    auto const weak = [](S& s) { return std::weak_ptr<typename S::Object>{s.owned}; };
    static constexpr auto run = &S::Object::run;
    auto const objectRanAt = [](nanoseconds due) {
        return [due](S& s) {
            EXPECT_EQ(s.owned->runs, 1);
            EXPECT_EQ(s.owned->ranAt, due);
            EXPECT_EQ(s.owned.use_count(), 1);
        };
    };
    return {
        {"newTimeout of an object's function, with options",
         [weak](S& s) {
             s.made =
                 s.timer->newTimeout(ifAlive(weak(s), run), S::delay(S::kFar), {.tolerance = 1ms});
         },
         objectRanAt(S::kFar)},
        {"newTimeout of an object's function at a time",
         [weak](S& s) { s.made = s.timer->newTimeout(ifAlive(weak(s), run), S::at(5ms)); },
         objectRanAt(5ms)},
        {"scheduleAtFixedRate",
         [](S& s) { s.made = s.timer->scheduleAtFixedRate(s.task(), S::delay(5ms), S::kPeriod); },
         ranPeriodically<S>(5ms)},
        {"scheduleAtFixedRate that needs levels",
         [](S& s) {
             s.made = s.timer->scheduleAtFixedRate(s.task(), S::delay(S::kFar), S::kPeriod,
                                                   MissedTicks::catchUp);
         },
         ranPeriodically<S>(S::kFar)},
        {"scheduleAtFixedRate whose period needs levels",
         [](S& s) {
             s.made =
                 s.timer->scheduleAtFixedRate(s.task(), S::delay(5ms), 10s, MissedTicks::shift);
         },
         ranOnceAt<S>(5ms)},
        {"scheduleWithFixedDelay",
         [](S& s) {
             s.made = s.timer->scheduleWithFixedDelay(s.task(), S::delay(5ms), S::kPeriod);
         },
         ranPeriodically<S>(5ms)},
        {"scheduleWithFixedDelay that needs levels",
         [](S& s) {
             s.made = s.timer->scheduleWithFixedDelay(s.task(), S::delay(S::kFar), S::kPeriod);
         },
         ranPeriodically<S>(S::kFar)},
        {"scheduleAtTimes",
         [](S& s) { s.made = s.timer->scheduleAtTimes(s.task(), timesFrom<S>(5ms)); },
         ranPeriodically<S>(5ms)},
        {"scheduleAtTimes that needs levels",
         [](S& s) {
             s.made =
                 s.timer->scheduleAtTimes(s.task(), timesFrom<S>(S::kFar), MissedTicks::catchUp);
         },
         ranPeriodically<S>(S::kFar)},
    };
}

/// On a timer that has no thread yet.
Calls<SystemTimer> firstCalls() {
    using S = Scene<SystemTimer>;
    Calls<SystemTimer> calls = firstCallsOfAnyTimer<S>();
    Calls<SystemTimer> const more{
        {"a first newTimeout that needs levels",
         [](S& s) { s.made = s.timer->newTimeout(s.task(), S::at(S::kFar)); },
         ranOnceAt<S>(S::kFar)},
        {"a first schedule", [](S& s) { s.timer->schedule(s.spare.hook, S::delay(5ms)); },
         [](S& s) { EXPECT_EQ(s.spare.ranAt, 5ms); }},
        {"a first scheduleAtFixedRate",
         [](S& s) { s.made = s.timer->scheduleAtFixedRate(s.task(), S::delay(5ms), S::kPeriod); },
         ranPeriodically<S>(5ms)},
    };
    calls.insert(calls.end(), more.begin(), more.end());
    return calls;
}

// ---- with a stop token -------------------------------------------------------------------------

template <class T>
Calls<T> tokenCalls() {
    using S = Scene<T>;
    static constexpr auto stoppable = [](S& s, std::stop_source const& source) {
        return untilStopped(source.get_token(), s.task());
    };
    auto const stopped = [](S& s) { s.expectRan(0, 0ms); };
    return {
        {"newTimeout with a token",
         [](S& s) {
             std::stop_source const source;
             s.made = s.timer->newTimeout(stoppable(s, source), S::delay(5ms));
         },
         ranOnceAt<S>(5ms)},
        {"newTimeout at a time with a token, that needs levels",
         [](S& s) {
             std::stop_source const source;
             s.made = s.timer->newTimeout(stoppable(s, source), S::at(S::kFar));
         },
         ranOnceAt<S>(S::kFar)},
        {"scheduleAtFixedRate with a token",
         [](S& s) {
             std::stop_source const source;
             s.made = s.timer->scheduleAtFixedRate(stoppable(s, source), S::delay(5ms), S::kPeriod);
         },
         ranPeriodically<S>(5ms)},
        {"scheduleWithFixedDelay with a token",
         [](S& s) {
             std::stop_source const source;
             s.made =
                 s.timer->scheduleWithFixedDelay(stoppable(s, source), S::delay(5ms), S::kPeriod);
         },
         ranPeriodically<S>(5ms)},
        {"scheduleAtTimes with a token",
         [](S& s) {
             std::stop_source const source;
             s.made = s.timer->scheduleAtTimes(stoppable(s, source), timesFrom<S>(5ms));
         },
         ranPeriodically<S>(5ms)},
        {"newTimeout with a token that is stopped then",
         [](S& s) {
             std::stop_source source;
             s.made = s.timer->newTimeout(stoppable(s, source), S::delay(5ms));
             source.request_stop();
             EXPECT_TRUE(s.made.isCancelled());
         },
         stopped},
        {"newTimeout with a token that is stopped already",
         [](S& s) {
             std::stop_source source;
             source.request_stop();
             s.made = s.timer->newTimeout(stoppable(s, source), S::delay(5ms));
             EXPECT_TRUE(s.made.isCancelled());
         },
         stopped},
        {"scheduleAtFixedRate with a token that is stopped then",
         [](S& s) {
             std::stop_source source;
             s.made = s.timer->scheduleAtFixedRate(stoppable(s, source), S::delay(5ms), S::kPeriod);
             source.request_stop();
             EXPECT_TRUE(s.made.isCancelled());
         },
         stopped},
    };
}

// ---- hooks and reschedule ----------------------------------------------------------------------

template <class T>
Calls<T> hookCalls() {
    using S = Scene<T>;
    auto const ranAt = [](nanoseconds due) {
        return [due](S& s) {
            EXPECT_EQ(s.spare.runs, 1);
            EXPECT_EQ(s.spare.ranAt, due);
        };
    };
    auto const movedTo = [](nanoseconds due) {
        return [due](S& s) {
            if (s.areTimesKept) {
                EXPECT_EQ(s.hooked.ranAt, due);
            }
        };
    };
    auto const expectTrue = [](bool answer) { EXPECT_TRUE(answer); };
    return {
        {"schedule", [](S& s) { s.timer->schedule(s.spare.hook, S::delay(5ms)); }, ranAt(5ms),
         false},
        {"schedule at a time",
         [](S& s) { s.timer->schedule(s.spare.hook, S::at(5ms), {.tolerance = 1ms}); }, ranAt(5ms),
         false},
        {"schedule that needs levels",
         [](S& s) { s.timer->schedule(s.spare.hook, S::delay(S::kFar), {.tolerance = 1ms}); },
         ranAt(S::kFar)},
        {"schedule at a time, that needs levels",
         [](S& s) { s.timer->schedule(s.spare.hook, S::at(S::kFar)); }, ranAt(S::kFar)},
        {"sleep",
         [](S& s) {
             auto const sleepShortly = [](auto sleep) {
                 EXPECT_FALSE(sleep.await_ready());
                 EXPECT_TRUE(sleep.await_suspend(std::noop_coroutine()));
                 EXPECT_EQ(sleep.await_resume(), Wake::expired);  // or will be
             };
             sleepShortly(s.timer->sleep(S::delay(5ms)));
             When const when = S::at(5ms);
             EXPECT_TRUE(when.isTimePoint() && when.timePoint() == S::at(5ms));
             sleepShortly(s.timer->sleep(when, std::stop_token{}));
         },
         {},
         false},
        {"the start of a sender's operation",
         [](S& s) {
             auto const startOne = [](TimedSender const& sender) {
                 Completion completion;
                 auto operation = sender.connect(Receiver{&completion});
                 operation.start();
                 if (completion.error) std::rethrow_exception(completion.error);
                 EXPECT_EQ(completion.count(), 0);
             };
             TimedScheduler const scheduler{*s.timer};
             startOne(scheduler.schedule_after(S::delay(5ms)));
             startOne(scheduler.schedule_at(S::at(5ms)));
             static_cast<void>(scheduler.schedule().get_env());
         },
         {},
         false},
        {"sleep with a token, that needs levels",
         [](S& s) {
             std::stop_source const source;
             auto sleep = s.timer->sleep(S::delay(S::kFar), source.get_token());
             EXPECT_TRUE(sleep.await_suspend(std::noop_coroutine()));
         }},
        {"stopAfter",
         [](S& s) {
             StopAfter const deadline = s.timer->stopAfter(S::delay(5ms));
             EXPECT_FALSE(deadline.token().stop_requested());
         }},
        {"stopAfter with a token, that needs levels",
         [](S& s) {
             std::stop_source source;
             StopAfter const deadline = s.timer->stopAfter(S::delay(S::kFar), source.get_token());
             source.request_stop();
             EXPECT_TRUE(deadline.token().stop_requested());
         }},
        {"schedule of a hook that is pending",
         [](S& s) { s.timer->schedule(s.hooked.hook, S::delay(39ms)); }, movedTo(39ms), false},
        {"schedule of a hook that is pending, that needs levels",
         [](S& s) { s.timer->schedule(s.hooked.hook, S::delay(S::kFar)); }, movedTo(S::kFar)},
        {"a hook's reschedule", [=](S& s) { expectTrue(s.hooked.hook.reschedule(S::delay(39ms))); },
         movedTo(39ms), false},
        {"a hook's reschedule to earlier",
         [=](S& s) { expectTrue(s.hooked.hook.reschedule(S::delay(3ms), {.tolerance = 1ms})); },
         movedTo(3ms), false},
        {"a hook's reschedule to a time",
         [=](S& s) { expectTrue(s.hooked.hook.reschedule(S::at(39ms))); }, movedTo(39ms), false},
        {"a hook's reschedule that needs levels",
         [=](S& s) { expectTrue(s.hooked.hook.reschedule(S::delay(S::kFar))); }, movedTo(S::kFar)},
        {"a hook's reschedule to a time, that needs levels",
         [=](S& s) { expectTrue(s.hooked.hook.reschedule(S::at(S::kFar), {.tolerance = 1ms})); },
         movedTo(S::kFar)},
        {"reschedule of a hook that is not scheduled",
         [](S& s) { EXPECT_FALSE(s.spare.hook.reschedule(S::kFar)); },
         {},
         false},
        {"a batch of hooks",
         [=](S& s) {
             std::array<TimerHookBase*, 1> const spare{&s.spare.hook};
             std::array<TimerHookBase*, 1> const hooked{&s.hooked.hook};
             s.timer->schedule(spare, S::delay(5ms));
             expectTrue(s.timer->cancel(spare) == 1);
             s.timer->schedule(spare, S::delay(5ms));
             expectTrue(s.timer->reschedule(hooked, S::delay(39ms)) == 1);
         },
         [=](S& s) {
             ranAt(5ms)(s);
             movedTo(39ms)(s);
         },
         false},
        {"a batch of hooks that needs levels",
         [](S& s) {
             std::array<TimerHookBase*, 1> const spare{&s.spare.hook};
             s.timer->schedule(spare, S::delay(S::kFar));
         },
         ranAt(S::kFar)},
        {"a batch of hooks that is moved and needs levels",
         [=](S& s) {
             std::array<TimerHookBase*, 1> const hooked{&s.hooked.hook};
             expectTrue(s.timer->reschedule(hooked, S::delay(S::kFar)) == 1);
         },
         movedTo(S::kFar)},
        {"a hook's cancel",
         [=](S& s) {
             expectTrue(s.hooked.hook.cancel());
             EXPECT_FALSE(s.spare.hook.cancel());
             s.isHookExpected = false;
         },
         {},
         false},
        {"a hook's cancelAndWait",
         [=](S& s) {
             expectTrue(s.hooked.hook.cancelAndWait());
             EXPECT_FALSE(s.spare.hook.cancelAndWait());
             s.isHookExpected = false;
         },
         {},
         false},
        {"a hook's life and questions",
         [=](S& s) {
             typename S::Object object{s};
             s.timer->schedule(object.hook, S::delay(5ms));
             expectTrue(object.hook.isPending());
             expectTrue(object.hook.deadline() == S::kStart + 5ms);
             expectTrue(TimerObserver::entryOf(object.hook) != nullptr);
         },
         {},
         false},
    };
}

template <class T>
Calls<T> reschedules() {
    using S = Scene<T>;
    auto const move = [](auto to, TimeoutOptions options, nanoseconds due) {
        return [=](S& s) {
            EXPECT_TRUE(s.timer->reschedule(s.planted[3].timeout, to, options));
            EXPECT_EQ(s.planted[3].timeout.deadline(), S::kStart + due);
            s.planted[3].due = due;
        };
    };
    return {
        {"reschedule", move(S::delay(39ms), {}, 39ms), {}, false},
        {"reschedule to earlier", move(S::delay(3ms), {}, 3ms), {}, false},
        {"reschedule to now", move(0ms, {}, 0ms), {}, false},
        {"reschedule to a time", move(S::at(39ms), {.tolerance = 1ms}, 39ms), {}, false},
        {"reschedule that needs levels", move(S::delay(S::kFar), {}, S::kFar)},
        {"reschedule to a time, that needs levels", move(S::at(S::kFar), {}, S::kFar)},
        {"reschedule with a tolerance, that needs levels",
         move(S::delay(S::kFar), {.tolerance = 50ms}, 304ms)},
        {"reschedule of a periodic one",
         [](S& s) {
             EXPECT_TRUE(s.timer->reschedule(s.periodic, S::delay(26ms)));
             EXPECT_TRUE(s.timer->reschedule(s.periodic, S::delay(25ms)));
         },
         {},
         false},
        {"reschedule of none",
         [](S& s) { EXPECT_FALSE(s.timer->reschedule(Timeout{}, 1ms)); },
         {},
         false},
    };
}

// ---- what is refused ---------------------------------------------------------------------------

template <class T>
Calls<T> refusals() {
    using S = Scene<T>;
    using Invalid = std::invalid_argument;
    return {
        {"newTimeout with a negative tolerance", refused<Invalid, S>([](S& s) {
             s.timer->newTimeout(s.task(), 5ms, {.tolerance = -1ms});
         })},
        {"newTimeout of a function that is aligned too far", refused<Invalid, S>([](S& s) {
             struct alignas(65'536) Huge {
                 void operator()() const {}
             };
             s.timer->newTimeout(Huge{}, 5ms);
         })},
        {"scheduleAtFixedRate with too short a period",
         refused<Invalid, S>([](S& s) { s.timer->scheduleAtFixedRate(s.task(), 5ms, 1us); })},
        {"scheduleWithFixedDelay with too short a delay",
         refused<Invalid, S>([](S& s) { s.timer->scheduleWithFixedDelay(s.task(), 5ms, 1us); })},
        {"scheduleAtTimes without a time", refused<Invalid, S>([](S& s) {
             s.timer->scheduleAtTimes(s.task(), [](Clock::TimePoint time) { return time; });
         })},
        {"schedule with a negative tolerance", refused<Invalid, S>([](S& s) {
             s.timer->schedule(s.spare.hook, 5ms, {.tolerance = -1ms});
         })},
        {"reschedule with a negative tolerance", refused<Invalid, S>([](S& s) {
             s.timer->reschedule(s.planted[3].timeout, 5ms, {.tolerance = -1ms});
         })},
        {"a hook's reschedule with a negative tolerance",
         refused<Invalid, S>([](S& s) { s.hooked.hook.reschedule(5ms, {.tolerance = -1ms}); })},
    };
}

/// On a timer whose limit is reached.
template <class T>
Calls<T> refusalsAtTheLimit() {
    using S = Scene<T>;
    using R = RejectedExecution;
    return {
        {"newTimeout over the limit",
         refused<R, S>([](S& s) { s.timer->newTimeout(s.task(), 5ms); })},
        {"newTimeout over the limit, that needs levels",
         refused<R, S>([](S& s) { s.timer->newTimeout(s.task(), S::kFar); })},
        {"scheduleAtFixedRate over the limit",
         refused<R, S>([](S& s) { s.timer->scheduleAtFixedRate(s.task(), 5ms, 5ms); })},
        {"schedule over the limit",
         refused<R, S>([](S& s) { s.timer->schedule(s.spare.hook, 5ms); })},
    };
}

/// On a timer that was stopped.
template <class T>
Calls<T> refusalsOnceStopped() {
    using S = Scene<T>;
    using L = std::logic_error;
    Calls<T> calls{
        {"scheduleWithFixedDelay once stopped",
         refused<L, S>([](S& s) { s.timer->scheduleWithFixedDelay(s.task(), 5ms, 5ms); })},
        {"schedule once stopped",
         refused<L, S>([](S& s) { s.timer->schedule(s.spare.hook, 5ms); })},
    };
    if constexpr (std::is_same_v<T, SystemTimer>) {
        calls.push_back({"drain once stopped", [](S& s) { s.timer->drain(); }, {}, false});
    }
    return onceStopped(calls);
}

// ---- handles and questions ---------------------------------------------------------------------

template <class T>
Calls<T> cancels() {
    using S = Scene<T>;
    // The k-th planted, in a way of its own.
    auto const cancel = [](std::size_t k, auto how) {
        return [=](S& s) {
            how(s, s.planted[k].timeout);
            s.planted[k].isExpected = false;
        };
    };
    return {
        {"cancel of the earliest", cancel(0, [](S&, Timeout const& t) { t.cancel(); }), {}, false},
        {"cancel of a periodic one",
         [](S& s) {
             EXPECT_TRUE(s.periodic.cancel());
             s.expectedPeriods = 0;
         },
         {},
         false},
        {"cancelAll",
         [](S& s) {
             std::size_t const pending = s.timer->pendingTimeouts();
             EXPECT_EQ(s.timer->cancelAll(), pending);
             s.expectNothing();
         },
         {},
         false},
        {"cancel of none",
         [](S&) {
             EXPECT_FALSE(Timeout{}.cancel());
             EXPECT_FALSE(Timeout{}.cancelAndWait());
         },
         {},
         false},
        {"a ScopedTimeout",
         cancel(3,
                [](S& s, Timeout const& t) {
                    ScopedTimeout scoped{t};
                    EXPECT_TRUE(static_cast<bool>(scoped) && scoped->isPending());
                    EXPECT_EQ(scoped.release(), t);
                    scoped = ScopedTimeout{t};
                    ScopedTimeout other{std::move(scoped)};
                    EXPECT_EQ(other.get(), t);
                    other.reset();
                    EXPECT_TRUE(t.isCancelled());
                    ScopedTimeout const last{s.periodic};
                    s.expectedPeriods = 0;
                }),
         {},
         false},
    };
}

template <class T>
Calls<T> questions() {
    using S = Scene<T>;
    Calls<T> calls{
        {"copies and comparisons of handles",
         [](S& s) {
             Timeout const& t = s.planted[3].timeout;
             Timeout copy{t};
             Timeout moved{std::move(copy)};
             copy = moved;
             EXPECT_TRUE(copy == t && (copy <=> t) == 0 && static_cast<bool>(copy));
             EXPECT_EQ(std::hash<Timeout>{}(copy), std::hash<Timeout>{}(t));
             EXPECT_NE(TimerObserver::entryOf(t), nullptr);
         },
         {},
         false},
        {"statistics", [](S& s) { EXPECT_EQ(s.timer->statistics().pending, s.look().pending); }},
        {"checkInvariants", [](S& s) { s.timer->checkInvariants(); }},
    };
    if constexpr (std::is_same_v<T, ManualTimer>) {
        calls.push_back({"nextExpiration and pollTimeout",
                         [](S& s) {
                             EXPECT_EQ(s.timer->nextExpiration(), S::kStart + 2ms);
                             EXPECT_EQ(s.timer->pollTimeout(), 2);
                         },
                         {},
                         false});
    }
    return calls;
}

// ---- what must not fail ------------------------------------------------------------------------

/// On timers that are idle.
Calls<SystemTimer> drains() {
    auto const drain = [](Scene<SystemTimer>& s) {
        s.cancelAll();
        s.timer->drain();
        s.stopped.emplace();
    };
    return {{"drain", drain, {}, false}};
}

/// What the driver does: on its own thread, or in a call. Tasks run meanwhile, and one throws.
template <class T>
Calls<T> drives() {
    using S = Scene<T>;
    if constexpr (std::is_same_v<T, SystemTimer>) {
        auto const drive = [](nanoseconds time) { return [time](S& s) { s.clock.advance(time); }; };
        auto const jump = [](S& s) {
            s.areTimesKept = false;
            s.clock.jump(100ms);
            --s.expectedPeriods;  // the second one was missed
        };
        return {{"the driver's work", drive(100ms), {}, false, Threads::others},
                {"the driver's work for long", drive(S::kEnd), {}, false, Threads::others},
                {"the driver's work after a jump", jump, {}, false, Threads::others}};
    } else {
        // All at once, and in three steps; the clock stands meanwhile.
        auto const advance = [](std::size_t atMost) {
            return [atMost](S& s) {
                s.areTimesKept = false;
                for (nanoseconds const time : {1ms, 20ms, 41ms})
                    while (s.timer->advanceTo(S::kStart + time, atMost)) {
                    }
            };
        };
        return {{"advanceTo", advance(SIZE_MAX), {}, false},
                {"advanceTo by one task", advance(1), {}, false}};
    }
}

// ---- the tests ---------------------------------------------------------------------------------

template <class T>
class OutOfMemory : public testing::Test {
protected:
    static void tell(std::string const& what, Tried const& tried, std::uint64_t atLeastTried) {
        test::tell(what + ", " + NamesOfTimers::GetName<T>(0), tried, atLeastTried);
    }
};
/// A LoopTimer has their engine: what it adds is made in its constructor.
using OneOfEachEngine = testing::Types<SystemTimer, ManualTimer>;
TYPED_TEST_SUITE(OutOfMemory, OneOfEachEngine, NamesOfTimers);

// G16
TYPED_TEST(OutOfMemory, AScheduleSucceedsOrChangesNothing) {
    Tried tried = tryAll(kinds<TypeParam>(), schedulesOfAnyTimer<Scene<TypeParam>>());
    tried += tryAll(kinds<TypeParam>(), schedules<TypeParam>());
    tried += tryAll(kinds<TypeParam>(), moreSchedules<TypeParam>());
    this->tell("schedules", tried, 1'000);
}

// G16
TYPED_TEST(OutOfMemory, AHookIsScheduledAndMovedOrNothingChanges) {
    this->tell("hooks", tryAll(kinds<TypeParam>(), hookCalls<TypeParam>()), 200);
}

// G16
TYPED_TEST(OutOfMemory, ATimeoutWithATokenIsScheduledOrNothingChanges) {
    this->tell("tokens", tryAll(kinds<TypeParam>(), tokenCalls<TypeParam>()), 150);
}

// G16
TYPED_TEST(OutOfMemory, ATimeoutIsMovedOrNothingChanges) {
    this->tell("reschedules", tryAll(kindsWithACrowd<TypeParam>(), reschedules<TypeParam>()), 150);
}

TYPED_TEST(OutOfMemory, WhatIsRefusedChangesNothing) {
    using S = Scene<TypeParam>;
    Tried tried = tryAll(kinds<TypeParam>(), refusalsOfAnyTimer<S>());
    tried += tryAll(kinds<TypeParam>(), refusalsOnceStoppedOfAnyTimer<S>());
    tried += tryAll(kinds<TypeParam>(), refusals<TypeParam>());
    tried += tryAll({{.name = "at its limit", .hasLimit = true, .isFull = true}},
                    refusalsAtTheLimit<TypeParam>());
    tried += tryAll(kinds<TypeParam>(), refusalsOnceStopped<TypeParam>());
    this->tell("refusals", tried, 300);
}

// G16
TYPED_TEST(OutOfMemory, CancelsAndQuestionsNeedNone) {
    using S = Scene<TypeParam>;
    Tried tried = tryAll(kinds<TypeParam>(), cancelsOfAnyTimer<S>());
    tried += tryAll(kinds<TypeParam>(), questionsOfAnyTimer<S>());
    tried += tryAll(kinds<TypeParam>(), cancels<TypeParam>());
    tried += tryAll(kinds<TypeParam>(), questions<TypeParam>());
    this->tell("cancels and questions", tried, 100);
}

// G16
TYPED_TEST(OutOfMemory, TheEndNeedsNone) {
    std::vector<TimerKind> const all = kindsWithACrowd<TypeParam>();
    Tried tried = tryAll(all, endingsOfAnyTimer<Scene<TypeParam>>());
    if constexpr (std::is_same_v<TypeParam, SystemTimer>) tried += tryAll(all, drains());
    this->tell("stop and destructor", tried, 100);
}

// G16
TYPED_TEST(OutOfMemory, TheDriverNeedsNone) {
    std::vector<TimerKind> without = kindsWithACrowd<TypeParam>();
    // What a pool does without memory is shown in OutOfMemoryMakingTest.cpp.
    std::erase_if(without, [](TimerKind const& kind) { return kind.hasPool; });
    this->tell("the driver", tryAll(without, drives<TypeParam>()), 300);
}

// G16, G17
TEST(OutOfMemoryStart, TheFirstCallStartsTheThreadOrChangesNothing) {
    tell("the thread's start, SystemTimer",
         tryAll({{.name = "that is fresh", .isFresh = true},
                 {.name = "that is fresh, with a limit", .hasLimit = true, .isFresh = true},
                 {.name = "that is fresh and observed",
                  .observer = TimerKind::Observer::counts,
                  .isFresh = true}},
                firstCalls()),
         100);
    tellStarts<Scene<SystemTimer>>("SystemTimer", firstCalls());
}

// ---- inside tasks ------------------------------------------------------------------------------

/// What a task must not do is refused, with words or without memory for them.
template <class T>
Call<Scene<T>> insideATask(char const* name, std::function<void(Scene<T>&)> what) {
    using S = Scene<T>;
    auto const drive = [](S& s) {
        if constexpr (std::is_same_v<T, SystemTimer>) {
            s.clock.advance(1ms);
        } else {
            s.timer->advanceTo(S::kStart + 1ms);
            s.areTimesKept = false;
        }
    };
    bool const hasThread = std::is_same_v<T, SystemTimer>;
    Call<S> call{name, drive, [](S& s) { EXPECT_EQ(s.runs, 1); }, true,
                 hasThread ? Threads::others : Threads::thisOne};
    call.prepare = [what = std::move(what)](S& s) {
        s.made = s.timer->newTimeout(
            [&s, &what] {
                ++s.runs;
                try {
                    what(s);
                    ADD_FAILURE() << "was not refused";
                } catch (std::logic_error const&) {
                } catch (std::bad_alloc const&) {
                }
            },
            S::delay(1ms));
    };
    return call;
}

TYPED_TEST(OutOfMemory, WhatATaskMustNotDoIsRefused) {
    using S = Scene<TypeParam>;
    std::vector<Call<S>> calls{
        insideATask<TypeParam>("stop", [](S& s) { static_cast<void>(s.timer->stop()); }),
        insideATask<TypeParam>("advance", [](S& s) { s.clock.advance(1ms); }),
        insideATask<TypeParam>("jump", [](S& s) { s.clock.jump(1ms); }),
    };
    if constexpr (std::is_same_v<TypeParam, SystemTimer>)
        calls.push_back(insideATask<TypeParam>("drain", [](S& s) { s.timer->drain(); }));
    else
        calls.push_back(
            insideATask<TypeParam>("advanceTo", [](S& s) { s.timer->advanceTo(s.clock.now()); }));
    this->tell("inside a task", tryAll<S>({{.name = "as it is"}}, calls), 10);
}

// ---- the clock ---------------------------------------------------------------------------------

// It may stop on the way. What was due by then runs at the next call, at its own time.
TYPED_TEST(OutOfMemory, AClockThatStopsOnItsWayLosesNothing) {
    using S = Scene<TypeParam>;
    auto const stopping = [](auto move) {
        return [move](S& s) {
            try {
                move(s);
            } catch (std::bad_alloc const&) {
            }
        };
    };
    std::vector<Call<S>> const calls{
        {"advance", stopping([](S& s) { s.clock.advance(45ms); })},
        {"advanceTo", stopping([](S& s) { s.clock.advanceTo(S::kStart + 20ms); })},
        {"jump", stopping([](S& s) {
             s.areTimesKept = false;
             s.clock.jump(20ms);
         })},
        {"jumpTo", stopping([](S& s) {
             s.areTimesKept = false;
             s.clock.jumpTo(S::kStart + 20ms);
         })},
        {"now", [](S& s) { EXPECT_EQ(s.clock.now(), S::kStart); }, {}, false},
    };
    this->tell("the clock's moves", tryAll<S>({{.name = "as it is"}}, calls), 100);
}

// ---- periodic tasks ----------------------------------------------------------------------------

// G16. Bug pattern: the levels reach as far as the second run when a task is scheduled; but the
// third one, from where the clock stands at the end of a slot of the coarsest, lies beyond.
TEST(OutOfMemoryPeriodic, RunsWithinTheLevelsNeedNone) {
    constexpr int kLongest = 70;
    std::size_t allocated = 0;
    int runs = 0;
    for (int first : {-1'000, -1, 0, 1, 2, 3, 5, 7, 11, 15, 16, 17, 63, 64, 100}) {
        for (int period = 1; period <= kLongest; ++period) {
            SettableClock clock;
            ManualTimer timer{{.wheelSize = 4, .clock = clock}};
            timer.scheduleAtFixedRate([&runs] { ++runs; }, first * 1ms, period * 1ms);
            timer.scheduleWithFixedDelay([&runs] { ++runs; }, first * 1ms, period * 1ms);
            AllocationCounter const counter;
            for (int i = 0; i < 300; ++i) {
                clock.add(1ms);
                timer.advanceTo(clock.now());
            }
            allocated += counter.allocations();
        }
    }
    figure("G16", "allocations of runs of periodic tasks within the levels", allocated, exactly(0),
           {static_cast<std::uint64_t>(runs), 10'000});
}

/// When a periodic task runs in 2 s after a jump of 1 s that found no level for the next run, in
/// milliseconds.
std::vector<std::int64_t> runsAfterAJump(bool isFixedDelay, std::size_t kth, Repeat repeat) {
    std::vector<std::int64_t> ranAt;
    ranAt.reserve(100);
    SettableClock clock;
    ManualTimer timer{{.wheelSize = 4, .clock = clock}};
    auto const task = [&] { ranAt.push_back(clock.now().time_since_epoch() / 1ms); };
    if (isFixedDelay)
        timer.scheduleWithFixedDelay(task, 1ms, 60ms);
    else
        timer.scheduleAtFixedRate(task, 1ms, 60ms, MissedTicks::shift);
    timer.newTimeout([] {}, 2ms);  // holds the wheel's clock back
    clock.set(Clock::TimePoint{1s});
    {
        AllocationFailure const failure{kth, repeat};
        timer.advanceTo(clock.now());
        EXPECT_EQ(failure.happened(), kth > 0);
        for (int i = 0; i < 2'000; ++i) {
            clock.add(1ms);
            timer.advanceTo(clock.now());
        }
    }
    timer.checkInvariants();
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    return ranAt;
}

// G16
TEST(OutOfMemoryPeriodic, WithoutALevelForItsNextRunItIsAsPunctual) {
    std::size_t different = 0;
    std::size_t tried = 0;
    for (bool const isFixedDelay : {false, true}) {
        auto const expected = runsAfterAJump(isFixedDelay, 0, Repeat::once);
        EXPECT_EQ(expected.size(), 34U);
        for (Repeat const repeat : {Repeat::once, Repeat::forEver}) {
            for (std::size_t kth = 1; kth <= 2; ++kth) {
                different += runsAfterAJump(isFixedDelay, kth, repeat) == expected ? 0U : 1U;
                ++tried;
            }
        }
    }
    figure("G16", "periodic tasks that ran at other times for want of a level", different,
           exactly(0), {tried, 8});
}

}  // namespace
}  // namespace timingwheel::test
