// Tasks that run at the times that a function computes: scheduleAtTimes.

#include <support/Effort.h>
#include <support/TestTimers.h>
#include <timingwheel/StopToken.h>
#include <timingwheel/TaskPool.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

using TimePoint = Clock::TimePoint;
using Times = std::vector<milliseconds>;

template <class T>
using Series = OfWheelTimers<T>;
TYPED_TEST_SUITE(Series, WheelTimers, NamesOfTimers);

constexpr TimePoint at(milliseconds time) { return TimePoint{time}; }

/// The first square number of milliseconds that is later: no period.
std::optional<TimePoint> nextSquare(TimePoint after) {
    std::int64_t root = 1;
    while (at(root * root * 1ms) <= after) ++root;
    return at(root * root * 1ms);
}

/// Each ten milliseconds.
TimePoint nextTen(TimePoint after) {
    return at((std::chrono::floor<milliseconds>(after.time_since_epoch()) / 10ms + 1) * 10ms);
}

TYPED_TEST(Series, RunsAtTheTimesOfItsFunction) {
    TypeParam timer{this->options()};
    Times times;
    Timeout const series =
        timer.scheduleAtTimes([&] { times.push_back(sinceStart(this->clock)); }, nextSquare);
    EXPECT_EQ(series.deadline(), at(1ms));
    this->clock.advance(50ms);
    EXPECT_EQ(times, (Times{1ms, 4ms, 9ms, 16ms, 25ms, 36ms, 49ms}));
    EXPECT_TRUE(series.isPending());
    EXPECT_EQ(series.deadline(), at(64ms));
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    timer.checkInvariants();
}

TYPED_TEST(Series, EndsWithItsLastTime) {
    TypeParam timer{this->options()};
    int runs = 0;
    auto const alive = std::make_shared<int>(0);
    Timeout const series = timer.scheduleAtTimes(
        [&runs, alive] { ++runs; },
        [](TimePoint after) { return after < at(30ms) ? nextSquare(after) : std::nullopt; });
    this->clock.advance(1s);
    EXPECT_EQ(runs, 6);
    EXPECT_TRUE(series.isExpired());
    EXPECT_EQ(alive.use_count(), 1) << "the task is destroyed";
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(this->failures.count(), 0U);
    TimerStatistics const statistics = timer.statistics();
    EXPECT_EQ(statistics.runs, 6U);
    EXPECT_EQ(statistics.scheduled, statistics.fired + statistics.cancelled);
}

// From the time that a run had, not from its end, and with no rounding to ticks.
TYPED_TEST(Series, DoesNotDrift) {
    TypeParam timer{this->options({.tick = 7ms})};
    std::vector<TimePoint> asked;
    Times times;
    timer.scheduleAtTimes([&] { times.push_back(sinceStart(this->clock)); },
                          [&](TimePoint after) {
                              asked.push_back(after);
                              return after + 10ms;
                          });
    this->clock.advance(45ms);
    EXPECT_EQ(times, (Times{14ms, 21ms, 35ms, 42ms}));
    EXPECT_EQ(asked, (std::vector{at(0ms), at(10ms), at(20ms), at(30ms), at(40ms)}));
}

TYPED_TEST(Series, SkipsWhatItMissed) {
    TypeParam timer{this->options()};
    Times times;
    timer.scheduleAtTimes([&] { times.push_back(sinceStart(this->clock)); }, nextTen);
    this->clock.advance(20ms);
    this->clock.jump(35ms);
    this->clock.advance(25ms);
    EXPECT_EQ(times, (Times{10ms, 20ms, 55ms, 60ms, 70ms, 80ms}));
}

// A run is missed if its tick has come.
TEST(Series, SkipsNoRunWhoseTickIsStillToCome) {
    SettableClock clock;
    ManualTimer timer{{.tick = 10ms, .clock = clock}};
    Timeout const series = timer.scheduleAtTimes(
        [&] { clock.set(at(17ms)); },
        [](TimePoint after) { return after < at(5ms) ? at(5ms) : after + 10ms; });
    clock.set(at(10ms));
    timer.advanceTo(clock.now());
    EXPECT_EQ(series.deadline(), at(20ms));
}

TYPED_TEST(Series, CatchesUpWithWhatItMissed) {
    TypeParam timer{this->options()};
    Times times;
    timer.scheduleAtTimes([&] { times.push_back(sinceStart(this->clock)); }, nextTen,
                          MissedTicks::catchUp);
    this->clock.advance(20ms);
    this->clock.jump(35ms);
    this->clock.advance(25ms);
    EXPECT_EQ(times, (Times{10ms, 20ms, 55ms, 55ms, 55ms, 60ms, 70ms, 80ms}));
}

TYPED_TEST(Series, EndsWhereItsFunctionThrows) {
    TypeParam timer{this->options()};
    int runs = 0;
    auto const alive = std::make_shared<int>(0);
    Timeout const series = timer.scheduleAtTimes([&runs, alive] { ++runs; },
                                                 [](TimePoint after) {
                                                     if (after == at(20ms))
                                                         throw std::runtime_error{"no calendar"};
                                                     return nextTen(after);
                                                 });
    this->clock.advance(1s);
    EXPECT_EQ(runs, 2);
    ASSERT_EQ(this->failures.count(), 1U);
    FailureLog::Entry const failure = this->failures.entries().front();
    EXPECT_EQ(failure.kind, TaskFailure::Kind::noNextTime);
    EXPECT_EQ(failure.what, "no calendar");
    EXPECT_EQ(failure.timeout, series);
    EXPECT_TRUE(series.isExpired());
    EXPECT_EQ(alive.use_count(), 1);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

TYPED_TEST(Series, EndsWhereItsTimeIsNotLater) {
    for (auto const back : {0ms, 1ms}) {
        FailureLog log;
        TypeParam timer{this->options({.errorHandler = log.handler()})};
        int runs = 0;
        TimePoint const third = this->clock.now() + 30ms;
        timer.scheduleAtTimes(
            [&] { ++runs; },
            [=](TimePoint after) { return after == third ? after - back : after + 10ms; });
        this->clock.advance(1s);
        EXPECT_EQ(runs, 3);
        ASSERT_EQ(log.count(TaskFailure::Kind::noNextTime), 1U);
        std::string const given = std::to_string(third.time_since_epoch().count());
        std::string const returned = std::to_string((third - back).time_since_epoch().count());
        EXPECT_EQ(log.entries().front().what,
                  "the time that timeAfter returned is " + returned +
                      " ns: it must be later than the one it was given, " + given + " ns");
    }
}

TYPED_TEST(Series, GoesOnAfterATaskThatThrew) {
    TypeParam timer{this->options()};
    timer.scheduleAtTimes([] { throw 7; }, nextTen);
    this->clock.advance(30ms);
    EXPECT_EQ(this->failures.count(TaskFailure::Kind::threw), 3U);
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
}

TYPED_TEST(Series, IsCancelledFromOutsideAndInside) {
    TypeParam timer{this->options()};
    int runs = 0;
    int asked = 0;
    Timeout const fromOutside = timer.scheduleAtTimes([&] { ++runs; }, nextTen);
    Timeout const fromInside =
        timer.scheduleAtTimes([](Timeout const& self) { EXPECT_TRUE(self.cancel()); },
                              [&](TimePoint after) {
                                  ++asked;
                                  return nextTen(after);
                              });
    this->clock.advance(15ms);
    EXPECT_TRUE(fromOutside.cancel());
    EXPECT_FALSE(fromOutside.cancel());
    EXPECT_TRUE(fromInside.isCancelled());
    EXPECT_EQ(asked, 1) << "no time is computed for what is over";
    this->clock.advance(1s);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

TYPED_TEST(Series, GoesOnFromWhereItWasRescheduled) {
    TypeParam timer{this->options()};
    Times times;
    Timeout const series =
        timer.scheduleAtTimes([&] { times.push_back(sinceStart(this->clock)); }, nextTen);
    EXPECT_TRUE(timer.reschedule(series, 33ms));
    this->clock.advance(55ms);
    EXPECT_EQ(times, (Times{33ms, 40ms, 50ms}));
}

TYPED_TEST(Series, TakesATaskOfAnyKind) {
    struct Object final : TimerTask {
        void run(Timeout const&) override { ++runs; }
        void cancelled(Timeout const&) override { ++ends; }
        int runs = 0;
        int ends = 0;
    };
    struct Hears {
        void operator()() {}
        void cancelled(Timeout const&) { ++*ends; }
        int* ends;
    };
    TypeParam timer{this->options()};
    auto const object = std::make_shared<Object>();
    int ends = 0;
    Timeout const first = timer.scheduleAtTimes(object, nextTen);
    Timeout const second = timer.scheduleAtTimes(Hears{&ends}, nextTen);
    Timeout const third = timer.scheduleAtTimes([only = std::make_unique<int>(1)] {}, nextTen);
    this->clock.advance(25ms);
    EXPECT_EQ(object->runs, 2);
    first.cancel();
    second.cancel();
    EXPECT_EQ(object->ends, 1);
    EXPECT_EQ(ends, 1);
    StoppedTimeouts const stopped = timer.stop();
    ASSERT_EQ(stopped.size(), 1U);
    EXPECT_EQ((*stopped.begin()).timeout(), third);
    EXPECT_EQ(third.task(), nullptr);
}

TYPED_TEST(Series, EndsWithAStopToken) {
    TypeParam timer{this->options()};
    std::stop_source source;
    int runs = 0;
    auto const stoppable = untilStopped(source.get_token(), [&] { ++runs; });
    Timeout const series = timer.scheduleAtTimes(stoppable, nextTen);
    this->clock.advance(25ms);
    source.request_stop();
    EXPECT_TRUE(series.isCancelled());
    this->clock.advance(25ms);
    EXPECT_EQ(runs, 2);
    Timeout const never = timer.scheduleAtTimes(stoppable, nextTen);
    EXPECT_TRUE(never.isCancelled());
}

TYPED_TEST(Series, MayBeFarAway) {
    TypeParam timer{this->options()};
    int runs = 0;
    Timeout const series = timer.scheduleAtTimes(
        [&] { ++runs; },
        [](TimePoint after) { return after < at(1h) ? after + 24h * 365 : TimePoint::max(); });
    this->clock.advance(24h * 365);
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(series.isPending()) << "the next time is never";
    this->clock.advance(24h * 365 * 100);
    EXPECT_EQ(runs, 1);
    timer.checkInvariants();
}

TYPED_TEST(Series, RefusesWhatHasNoTime) {
    TypeParam timer{this->options()};
    this->clock.advance(5ms);
    auto const refused = [&](auto timeAfter, MissedTicks missed = MissedTicks::skip) {
        try {
            timer.scheduleAtTimes([] {}, timeAfter, missed);
        } catch (std::invalid_argument const& error) {
            EXPECT_EQ(timer.pendingTimeouts(), 0U);
            return std::string{error.what()};
        }
        return std::string{"accepted"};
    };
    EXPECT_EQ(refused([](TimePoint) { return std::optional<TimePoint>{}; }),
              "the time that timeAfter returned is none: it must be one that is still to come: a "
              "series has at least that");
    EXPECT_EQ(
        refused([](TimePoint after) { return after; }),
        "the time that timeAfter returned is 5000000 ns: it must be later than the one it was "
        "given, 5000000 ns");
    EXPECT_EQ(refused(nextTen, MissedTicks::shift),
              "missed is shift: it must be skip or catchUp: times that a function computes cannot "
              "be shifted");
    EXPECT_EQ(refused(static_cast<TimePoint (*)(TimePoint)>(nullptr)),
              "timeAfter is empty: it must be something that can be called");
    EXPECT_THROW(timer.scheduleAtTimes([] {}, [](TimePoint) -> TimePoint { throw 7; }), int);
    EXPECT_THROW(timer.scheduleAtTimes(std::shared_ptr<TimerTask>{}, nextTen),
                 std::invalid_argument);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    static_cast<void>(timer.stop());
    EXPECT_THROW(timer.scheduleAtTimes([] {}, nextTen), std::logic_error);
}

// The function is the user's: it may use the timer that it computes for.
TYPED_TEST(Series, ComputesOutsideEveryLock) {
    TypeParam timer{this->options()};
    int others = 0;
    timer.scheduleAtTimes([] {},
                          [&](TimePoint after) {
                              timer.newTimeout([&] { ++others; }, 5ms);
                              static_cast<void>(timer.pendingTimeouts());
                              return nextTen(after);
                          });
    this->clock.advance(100ms);
    EXPECT_EQ(others, 10);
}

TEST(SeriesDrain, EndsSeries) {
    SystemTimer timer;
    std::atomic<int> runs{0};
    Timeout const series =
        timer.scheduleAtTimes([&] { ++runs; }, [](TimePoint after) { return after + 1ms; });
    timer.drain();
    EXPECT_GE(runs, 1);
    EXPECT_TRUE(series.isExpired());
}

TEST(SeriesOnAnExecutor, ComputesThereAsWell) {
    ManualClock clock;
    TaskPool pool{{.threads = 2}};
    SystemTimer timer{{.clock = clock, .executor = pool}};
    Times times;
    timer.scheduleAtTimes([&] { times.push_back(sinceStart(clock)); }, nextSquare);
    clock.advance(50ms);
    EXPECT_EQ(times, (Times{1ms, 4ms, 9ms, 16ms, 25ms, 36ms, 49ms}));
}

TEST(SeriesThatDestroysItsTimer, IsNotAskedForAnotherTime) {
    ManualClock clock;
    auto timer = std::make_unique<ManualTimer>(TimerOptions{.clock = clock});
    int asked = 0;
    Timeout const series = timer->scheduleAtTimes([&] { timer.reset(); },
                                                  [&](TimePoint after) {
                                                      ++asked;
                                                      return nextTen(after);
                                                  });
    clock.advance(10ms);
    EXPECT_EQ(timer, nullptr);
    EXPECT_EQ(asked, 1);
    EXPECT_TRUE(series.isReturned());
}

// ---- a clock that people set ------------------------------------------------------------------

constexpr TimePoint kFrom{9h};

/// Each full hour.
TimePoint nextHour(TimePoint after) {
    return TimePoint{std::chrono::floor<std::chrono::hours>(after.time_since_epoch()) + 1h};
}

/// When a task of each full hour ran, while the clock went through `times`.
std::vector<std::chrono::hours> hoursThrough(std::vector<TimePoint> const& times,
                                             Duration tick = 1ms) {
    SettableClock clock{times.front(), Clock::Kind::wall};
    ManualTimer timer{{.tick = tick, .clock = clock}};
    std::vector<std::chrono::hours> ran;
    Timeout const series = timer.scheduleAtTimes(
        [&] {
            ran.push_back(std::chrono::floor<std::chrono::hours>(clock.now().time_since_epoch()));
        },
        nextHour);
    for (TimePoint const time : times) {
        clock.set(time);
        while (timer.advanceTo(time)) {
        }
        timer.advanceTo(time);  // what was computed anew meanwhile
        timer.checkInvariants();
        EXPECT_TRUE(series.isPending());
        EXPECT_EQ(timer.pendingTimeouts(), 1U);
    }
    return ran;
}

using Hours = std::vector<std::chrono::hours>;

// G15
TEST(SeriesUnderAWallClock, ComesTwiceForNoTime) {
    EXPECT_EQ(hoursThrough({kFrom, kFrom + 1h, kFrom + 2h, kFrom, kFrom + 1h, kFrom + 2h,
                            kFrom + 3h, kFrom + 4h}),
              (Hours{10h, 11h, 12h, 13h}));
    EXPECT_EQ(hoursThrough({kFrom, kFrom + 3h, kFrom + 1ms, kFrom + 1h, kFrom + 2h, kFrom + 4h}),
              (Hours{12h, 13h}))
        << "three hours less a millisecond back";
    EXPECT_EQ(hoursThrough({kFrom, kFrom + 3h, kFrom + 2h, kFrom + 3h, kFrom + 7h}, 4h),
              (Hours{12h, 16h}))
        << "a tick of more than three hours";
}

// G15
TEST(SeriesUnderAWallClock, TakesACorrectedTimeAtOnce) {
    EXPECT_EQ(hoursThrough({kFrom, kFrom + 1h, kFrom + 2h, kFrom - 3h, kFrom - 2h, kFrom - 1h}),
              (Hours{10h, 11h, 7h, 8h}));
    EXPECT_EQ(hoursThrough({kFrom + 24h * 365, kFrom + 24h * 365 + 1h, kFrom, kFrom + 1h}),
              (Hours{24h * 365 + 10h, 10h}));
}

// G15
TEST(SeriesUnderAWallClock, RunsOnceForWhatAStepForwardMissed) {
    EXPECT_EQ(hoursThrough({kFrom, kFrom + 24h + 1min, kFrom + 25h}), (Hours{33h, 34h}));
}

// G15
TEST(SeriesUnderAWallClock, IsNotRunByACorrection) {
    SettableClock clock{kFrom, Clock::Kind::wall};
    struct Log final : TimerObserver {
        void onEvent(TimerEvent const& event) noexcept override {
            runs += event.stage == TimerEvent::Stage::run ? 1 : 0;
        }
        int runs = 0;
    } log;
    ManualTimer timer{{.clock = clock, .observer = &log}};
    int runs = 0;
    Timeout const series = timer.scheduleAtTimes([&] { ++runs; }, nextHour);
    Timeout const moved = timer.scheduleAtTimes([&] { ++runs; }, nextHour);
    Timeout const plain = timer.newTimeout([&] { ++runs; }, kFrom + 2h);
    clock.set(kFrom + 30min);
    timer.advanceTo(clock.now());
    EXPECT_TRUE(timer.reschedule(moved, kFrom + 5h));
    clock.set(kFrom - 5h - 30min);
    for (int i = 0; i < 3; ++i) timer.advanceTo(clock.now());
    EXPECT_EQ(series.deadline(), kFrom - 5h) << "computed anew";
    EXPECT_EQ(moved.deadline(), kFrom + 5h) << "where its user has put it";
    EXPECT_EQ(plain.deadline(), kFrom + 2h);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(log.runs, 0);
    EXPECT_EQ(timer.statistics().runs, 0U);
    clock.set(kFrom - 5h);
    timer.advanceTo(clock.now());
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(log.runs, 1);
}

// G15
// The step back was undone before its time was computed anew: then it is due, and runs.
TEST(SeriesUnderAWallClock, RunsIfTheCorrectionIsTakenBack) {
    SettableClock clock{kFrom, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    int runs = 0;
    timer.scheduleAtTimes([&] { ++runs; }, nextHour, MissedTicks::catchUp);
    clock.set(kFrom + 30min);
    timer.advanceTo(clock.now());
    clock.set(kFrom - 9h);
    timer.newTimeout([] {}, 1h);  // turns the wheel back
    timer.advanceTo(clock.now(), 0);
    clock.set(kFrom + 2h);
    timer.advanceTo(clock.now());
    EXPECT_EQ(runs, 2) << "of 10 and 11 o'clock";
    clock.set(kFrom + 3h);
    timer.advanceTo(clock.now());
    EXPECT_EQ(runs, 3);
}

// G15
// Bug pattern: the second step, a small one, hides the first from what has no place yet.
TEST(SeriesUnderAWallClock, IsCorrectedThoughASmallStepFollows) {
    SettableClock clock{kFrom, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    Timeout const series = timer.scheduleAtTimes([] {}, nextHour);
    for (auto const step : {30min, -5h - 30min, -6h - 30min}) {
        clock.set(kFrom + step);
        timer.newTimeout([] {}, 24h);  // turns the wheel back
    }
    for (int i = 0; i < 3; ++i) timer.advanceTo(clock.now());
    EXPECT_EQ(series.deadline(), kFrom - 6h);
}

// G15
// The clock is set back during a run: by just three hours, and by more. Only a clock that people
// set is corrected.
TEST(SeriesUnderAWallClock, IsCorrectedInItsRunByMoreThanThreeHours) {
    struct Case {
        Clock::Kind kind;
        milliseconds back;
        TimePoint next;
    };
    for (Case const& each :
         {Case{Clock::Kind::wall, 3h, kFrom + 2h}, Case{Clock::Kind::wall, 3h + 1ms, kFrom - 2h},
          Case{Clock::Kind::steady, 9h, kFrom + 2h}}) {
        SettableClock clock{kFrom, each.kind};
        ManualTimer timer{{.clock = clock}};
        Timeout const series =
            timer.scheduleAtTimes([&] { clock.set(kFrom + 1h - each.back); }, nextHour);
        clock.set(kFrom + 1h);
        timer.advanceTo(clock.now());
        EXPECT_EQ(series.deadline(), each.next) << each.back.count();
    }
}

// G15
// What a task does to the clock corrects the others at once, without another step.
TEST(SeriesUnderAWallClock, IsCorrectedByATaskOfItsTimer) {
    Watchdog const watchdog{"a clock that a task sets back"};
    SettableClock clock{kFrom, Clock::Kind::wall};
    SystemTimer thread{{.clock = clock}};
    Timeout const ofThread = thread.scheduleAtTimes([] {}, nextHour);
    thread.newTimeout([&] { clock.set(kFrom - 7h); }, 0ms);
    while (ofThread.deadline() != kFrom - 6h) std::this_thread::yield();
#if defined(__linux__)  // has descriptors for a wall clock
    clock.set(kFrom);
    LoopTimer loop{{.clock = clock}};
    Timeout const ofLoop = loop.scheduleAtTimes([] {}, nextHour);
    loop.newTimeout([&] { clock.set(kFrom - 7h); }, 0ms);
    while (loop.nextExpiration() <= clock.now()) loop.runDue();
    EXPECT_EQ(ofLoop.deadline(), kFrom - 6h);
#endif
}

// G3, G10. Bug pattern: to have its time computed anew counts as the last run.
TEST(SeriesUnderAWallClock, RunsOnceMoreForADrainThatItIsCorrectedIn) {
    Watchdog const watchdog{"a series that is corrected while its timer drains"};
    SettableClock clock{kFrom, Clock::Kind::wall};
    SystemTimer timer{{.clock = clock}};
    std::atomic<int> runs{0};
    Timeout const series = timer.scheduleAtTimes([&] { ++runs; }, nextHour);
    std::thread draining{[&] { timer.drain(); }};
    waitUntilRefused(timer);
    clock.set(kFrom - 5h - 30min);
    while (series.deadline() != kFrom - 5h && !series.isExpired()) std::this_thread::yield();
    EXPECT_EQ(series.deadline(), kFrom - 5h);
    clock.set(kFrom - 5h);
    draining.join();
    EXPECT_EQ(runs, 1);
}

// G15
TEST(SeriesUnderAWallClock, IsDrivenByAManualOne) {
    constexpr std::chrono::sys_days kDay{std::chrono::year{2026} / 11 / 23};
    ManualClock clock{Clock::wallTime(kDay + 9h), Clock::Kind::wall};
    SystemTimer timer{{.clock = clock}};
    std::atomic<int> runs{0};
    timer.scheduleAtTimes([&] { ++runs; }, nextHour);
    clock.advance(24h);
    EXPECT_EQ(runs, 24);
    clock.jump(-24h);
    EXPECT_EQ(runs, 24);
    clock.advance(24h);
    EXPECT_EQ(runs, 48) << "the jump back was a correction";
}

}  // namespace
}  // namespace timingwheel::test
