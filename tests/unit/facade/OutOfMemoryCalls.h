#pragma once

#include <support/OutOfMemory.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/prometheus.h>
#include <timingwheel/tagged.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

/// The calls that every timer has, for a scene of type `S`.
namespace timingwheel::test {

/// How the timers differ on which the calls are tried.
inline std::vector<TimerKind> kindsOfAnyTimer() {
    using Observer = TimerKind::Observer;
    return {{.name = "as it is"},
            {.name = "with a limit", .hasLimit = true},
            {.name = "that is observed", .observer = Observer::counts},
            {.name = "with a JSON trace", .observer = Observer::jsonLines},
            {.name = "with a Chrome trace", .observer = Observer::chrome}};
}

template <class S>
std::vector<Call<S>> schedulesOfAnyTimer() {
    using namespace std::chrono_literals;
    return {
        {"newTimeout", [](S& s) { s.made = s.timer->newTimeout(s.task(), S::delay(5ms)); },
         ranOnceAt<S>(5ms)},
        {"newTimeout that needs levels, or turns",
         [](S& s) { s.made = s.timer->newTimeout(s.task(), S::delay(S::kFar)); },
         ranOnceAt<S>(S::kFar)},
        {"newTimeout that is never due",
         [](S& s) { s.made = s.timer->newTimeout(s.task(), Duration::max()); },
         [](S& s) { s.expectRan(0, 0ms); }},
        {"newTimeout of a function that is copied",
         [](S& s) { s.made = s.timer->newTimeout(s.large, S::delay(5ms)); }, ranOnceAt<S>(5ms)},
        {"newTimeout of a function with a tag",
         [](S& s) { s.made = s.timer->newTimeout(tagged("tag", s.large), S::delay(5ms)); },
         ranOnceAt<S>(5ms)},
        {"newTimeout of a TimerTask",
         [](S& s) { s.made = s.timer->newTimeout(s.taskObject, S::delay(5ms)); },
         [](S& s) {
             EXPECT_EQ(s.taskObject->runs, 1);
             s.taskObject->last = {};
             EXPECT_EQ(s.taskObject.use_count(), 1);
         }},
        {"newTimeout of an object's function",
         [](S& s) {
             std::weak_ptr<typename S::Object> const weak{s.owned};
             s.made = s.timer->newTimeout(ifAlive(weak, &S::Object::run), S::delay(5ms));
         },
         [](S& s) {
             EXPECT_EQ(s.owned->runs, 1);
             EXPECT_EQ(s.owned->ranAt, 5ms);
             EXPECT_EQ(s.owned.use_count(), 1);
         }},
    };
}

/// On a timer that has no thread yet.
template <class S>
std::vector<Call<S>> firstCallsOfAnyTimer() {
    using namespace std::chrono_literals;
    return {
        {"a first newTimeout", [](S& s) { s.made = s.timer->newTimeout(s.task(), S::delay(5ms)); },
         ranOnceAt<S>(5ms)},
        {"start", [](S& s) { s.timer->start(); }},
    };
}

template <class S>
std::vector<Call<S>> refusalsOfAnyTimer() {
    using namespace std::chrono_literals;
    using Invalid = std::invalid_argument;
    return {
        {"newTimeout of nothing",
         refused<Invalid, S>([](S& s) { s.timer->newTimeout(std::function<void()>{}, 5ms); })},
        {"newTimeout after NaN", refused<Invalid, S>([](S& s) {
             s.timer->newTimeout(s.task(), std::chrono::duration<double>{std::nan("")});
         })},
    };
}

/// The calls, on a timer that was stopped.
template <class S>
std::vector<Call<S>> onceStopped(std::vector<Call<S>> calls) {
    for (Call<S>& call : calls) {
        call.prepare = [](S& s) { s.stopped = s.timer->stop(); };
        call.expectDone = [](S& s) { s.expectReturned(); };
    }
    return calls;
}

template <class S>
std::vector<Call<S>> refusalsOnceStoppedOfAnyTimer() {
    using namespace std::chrono_literals;
    using L = std::logic_error;
    std::vector<Call<S>> calls{
        {"newTimeout once stopped",
         refused<L, S>([](S& s) { s.timer->newTimeout(s.task(), 5ms); })},
        {"stop once stopped", [](S& s) { EXPECT_TRUE(s.timer->stop().empty()); }, {}, false},
    };
    if constexpr (!std::is_same_v<S, Scene<ManualTimer>>)
        calls.push_back({"start once stopped", refused<L, S>([](S& s) { s.timer->start(); })});
    return onceStopped(calls);
}

template <class S>
std::vector<Call<S>> cancelsOfAnyTimer() {
    return {
        {"cancel",
         [](S& s) {
             EXPECT_TRUE(s.planted[3].timeout.cancel());
             EXPECT_FALSE(s.planted[3].timeout.cancel());
             s.planted[3].isExpected = false;
         },
         {},
         false},
        {"cancelAndWait",
         [](S& s) {
             EXPECT_TRUE(s.planted[3].timeout.cancelAndWait());
             EXPECT_FALSE(s.planted[3].timeout.cancelAndWait());
             s.planted[3].isExpected = false;
         },
         {},
         false},
    };
}

template <class S>
std::vector<Call<S>> questionsOfAnyTimer() {
    using namespace std::chrono_literals;
    return {
        {"questions of a handle",
         [](S& s) {
             Timeout const& t = s.planted[3].timeout;
             EXPECT_TRUE(t.isPending());
             EXPECT_FALSE(t.isExpired() || t.isDone() || t.isCancelled() || t.isReturned() ||
                          t.isRejected());
             EXPECT_EQ(t.deadline(), S::kStart + 9ms);
             EXPECT_EQ(t.remaining(), 9ms);
             EXPECT_EQ(t.timer(), s.timer.get());
             EXPECT_EQ(t.task(), nullptr);
         },
         {},
         false},
        {"a handle that is printed",
         [](S& s) {
             s.nowhere << s.planted[3].timeout << Timeout{};
             EXPECT_TRUE(s.nowhere.good());
         },
         {},
         false},
        {"questions of a timer",
         [](S& s) {
             auto const& timer = *s.timer;
             EXPECT_EQ(&timer.clock(), &s.clock);
             EXPECT_EQ(timer.name().size(), 11U);
             EXPECT_EQ(timer.tick(), S::kTick);
             std::size_t const others = S::kIsFlat ? 0 : 2;  // a hook, and a periodic one
             EXPECT_EQ(timer.pendingTimeouts(), s.planted.size() + others + s.kind.crowd);
         },
         {},
         false},
        {"pending, and its statistics for Prometheus",
         [](S& s) {
             std::size_t shown = 0;
             s.timer->pending([&](PendingTimeout const&) { ++shown; });
             EXPECT_EQ(shown, s.timer->pendingTimeouts());
             writePrometheus(s.nowhere, s.timer->statistics());
         }},
    };
}

/// Looks at each timeout that stop() returned, and keeps what it can.
template <class S>
void lookAtAll(S& s) {
    std::size_t seen = 0;
    for (StoppedTimeout const& each : *s.stopped) {
        ++seen;
        EXPECT_TRUE(each.timeout().isReturned());
        EXPECT_EQ(each.remaining(), each.deadline() - S::kStart);
        EXPECT_EQ(each.task(), nullptr);
        EXPECT_EQ(each.template target<std::function<void()>>(), nullptr);
    }
    EXPECT_EQ(seen, s.stopped->size());
    EXPECT_FALSE(s.stopped->empty());
    StoppedTimeouts moved{std::move(*s.stopped)};
    *s.stopped = std::move(moved);
}

template <class S>
std::vector<Call<S>> endingsOfAnyTimer() {
    auto const returned = [](S& s) { s.expectReturned(); };
    return {
        {"stop", [](S& s) { s.stopped = s.timer->stop(); }, returned, false},
        {"stop, and a look at what it returns",
         [](S& s) {
             s.stopped = s.timer->stop();
             lookAtAll(s);
         },
         returned, false},
        {"stop, and what it returns is dropped",
         [](S& s) {
             s.stopped = s.timer->stop();
             *s.stopped = StoppedTimeouts{};
             s.stopped.reset();
             s.timer.reset();
         },
         returned, false},
        {"the destructor", [](S& s) { s.timer.reset(); }, returned, false},
    };
}

}  // namespace timingwheel::test
