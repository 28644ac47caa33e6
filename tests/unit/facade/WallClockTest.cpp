// Deadlines by the time of day: what the system promises of its clock, and what a timer makes of
// one that is set.

#include "TimerDescriptors.h"

#include <support/Effort.h>
#include <support/Figure.h>
#include <support/Platform.h>
#include <support/TestTimers.h>
#include <support/Threads.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/LoopTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

// Shows G15.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

using TimePoint = Clock::TimePoint;
constexpr std::chrono::sys_days kDay{std::chrono::year{2026} / 11 / 23};
constexpr TimePoint kNine = Clock::wallTime(kDay + 9h);

// ---- the system's clock -----------------------------------------------------------------------

TEST(WallClock, IsTheSystemsTime) {
    Clock& clock = Clock::wall();
    EXPECT_EQ(&clock, &Clock::wall());
    EXPECT_EQ(clock.kind(), Clock::Kind::wall);
    auto const before = std::chrono::system_clock::now();
    auto const shown = Clock::systemTime(clock.now());
    EXPECT_GE(shown, before);
    EXPECT_LE(shown, std::chrono::system_clock::now());
}

TEST(WallClock, ConvertsItsTimes) {
    EXPECT_EQ(kNine.time_since_epoch(), 20'780 * 24h + 9h);
    EXPECT_EQ(Clock::systemTime(kNine), kDay + 9h);
    auto const now = std::chrono::system_clock::now();
    EXPECT_EQ(Clock::systemTime(Clock::wallTime(now)), now);
    EXPECT_EQ(Clock::systemTime(TimePoint{-1ns}),
              std::chrono::floor<std::chrono::system_clock::duration>(
                  std::chrono::sys_time<std::chrono::nanoseconds>{-1ns}));
    using std::chrono::year;
    EXPECT_EQ(Clock::wallTime(std::chrono::sys_days{year{2263} / 1 / 1}), TimePoint::max());
    EXPECT_EQ(Clock::wallTime(std::chrono::sys_days{year{1600} / 1 / 1}), TimePoint::min());
    using Fractions = std::chrono::duration<double>;
    EXPECT_THROW(Clock::wallTime(std::chrono::sys_time<Fractions>{Fractions{std::nan("")}}),
                 std::invalid_argument);
}

TEST(WallClock, DrivesTimers) {
    Watchdog const watchdog{"a timer under the wall clock"};
    Clock& clock = Clock::wall();
    SystemTimer timer{{.clock = clock}};
    for (int round = 0; round < 3; ++round) {
        Latch ran;
        TimePoint const deadline = clock.now() + 3ms;
        timer.newTimeout([&] { ran.open(); }, deadline);
        ran.wait();
    }
    // Something earlier wakes the thread, which sleeps until something later.
    Latch ran;
    timer.newTimeout([] {}, 1h);
    std::this_thread::sleep_for(1ms);
    timer.newTimeout([&] { ran.open(); }, 1ms);
    ran.wait();
}

TEST(WallClock, IsRefusedByAFlatTimer) {
    try {
        HashedWheelTimer const timer{{.clock = Clock::wall()}};
        FAIL();
    } catch (std::invalid_argument const& error) {
        EXPECT_EQ(std::string{error.what()},
                  "clock is a wall clock: it must be one that nobody sets: a flat wheel does not "
                  "turn back");
    }
}

#if defined(__linux__)

// A step ends the kernel's wait.
TEST(WallClock, HasItsThreadsHearThatItWasSet) {
    int const before = descriptorsOf(CLOCK_REALTIME);
    {
        SystemTimer timer{{.clock = Clock::wall()}};
        EXPECT_EQ(descriptorsOf(CLOCK_REALTIME), before + 1);
        timer.newTimeout([] {}, 1h);
        waitUntil([] { return settingsThatHearOfSteps() > 0; });
    }
    EXPECT_EQ(descriptorsOf(CLOCK_REALTIME), before) << "it is given back";
}

// The kernel says so when the time was set just before the wait: then the thread looks again.
TEST(WallClock, LooksAgainWhenTheKernelCancelsItsWait) {
    Watchdog const watchdog{"a wait that is cancelled"};
    auto const waiter = Clock::wall().makeWaiter();
    StepBeforeEachWait const steps;
    waiter->waitUntil(Clock::wall().now() + 1h);  // returns
    waiter->waitUntil(TimePoint::max());
}

TEST(WallClock, GivesALoopADescriptorThatHearsOfSteps) {
    Watchdog const watchdog{"a loop under the wall clock"};
    LoopTimer timer{{.clock = Clock::wall()}};
    EXPECT_EQ(clockOf(timer.nativeHandle()), std::to_string(CLOCK_REALTIME));
    int const before = settingsThatHearOfSteps();
    bool ran = false;
    timer.newTimeout([&] { ran = true; }, 2ms);
    EXPECT_GT(settingsThatHearOfSteps(), before);
    int const set = settingsThatHearOfSteps();
    timer.runDue();
    EXPECT_EQ(settingsThatHearOfSteps(), set + 1) << "a step may have left it readable";
    while (!ran) {
        ASSERT_TRUE(isReadableWithin(timer.nativeHandle(), 60s));
        timer.runDue();
    }
    EXPECT_FALSE(isReadableWithin(timer.nativeHandle(), 0ms));
}

// Bug pattern: the call that arms the descriptor is told of the step, and nobody else is.
TEST(WallClock, WakesALoopWhoseDescriptorIsSetAfterAStep) {
    LoopTimer timer{{.clock = Clock::wall()}};
    {
        StepBeforeEachWait const steps;
        timer.newTimeout([] {}, 1h);
    }
    EXPECT_TRUE(isReadableWithin(timer.nativeHandle(), 60s));
    timer.runDue();
    EXPECT_FALSE(isReadableWithin(timer.nativeHandle(), 0ms));
}

TEST(WallClock, SaysThatTheSystemHasNoDescriptorLeft) {
    {
        NoDescriptorLeft const scarcity;
        EXPECT_THROW(SystemTimer({.clock = Clock::wall()}), std::system_error);
    }
    SystemTimer const timer{{.clock = Clock::wall()}};
}

#else

TEST(WallClock, HasNoDescriptorForALoop) {
    EXPECT_THROW(LoopTimer({.clock = Clock::wall()}), std::system_error);
}

#endif

// ---- a clock that is set ----------------------------------------------------------------------

// G15
TEST(WallClockSteps, MoveNothingButTheTimeOfDay) {
    Watchdog const watchdog{"a wall clock that is set"};
    std::size_t const count = effort(2'500, 100'000);
    std::mt19937_64 random{seedOr(1)};
    struct Due {
        TimePoint deadline;
        bool isReached;  // by the clock, since it was scheduled
    };
    std::deque<Due> all;
    SettableClock clock{kNine, Clock::Kind::wall};
    std::atomic<std::size_t> ran{0};
    std::atomic<std::size_t> early{0};
    {
        SystemTimer timer{{.clock = clock}};
        SystemTimer monotonic;
        Timeout const other = monotonic.newTimeout([] {}, 24h);
        auto const schedule = [&](TimePoint deadline) {
            all.push_back({deadline, false});
            timer.newTimeout(
                [&, deadline] {
                    ++ran;
                    if (clock.now() < deadline) ++early;
                },
                deadline);
        };
        std::uniform_int_distribution<std::int64_t> within{1, 4 * 365 * 86'400};
        for (std::size_t i = 0; i < count; ++i) schedule(kNine + within(random) * 1s);
        for (auto const step : {1h, -2h, 25h, -72h, 24h * 40, -24h * 800, 24h * 365 * 2,
                                -24h * 365 * 3, 24h * 365 * 6}) {
            clock.set(clock.now() + step);
            // Also where the wheels have been already.
            for (int i = 1; i <= 100; ++i) schedule(clock.now() + i * 1h);
            for (Due& each : all) each.isReached = each.isReached || each.deadline <= clock.now();
            auto const reached = static_cast<std::size_t>(std::count_if(
                all.begin(), all.end(), [](Due const& each) { return each.isReached; }));
            waitUntil([&] { return ran >= reached; });
            Latch next;  // comes behind everything that is due
            timer.newTimeout([&] { next.open(); }, clock.now());
            next.wait();
            EXPECT_EQ(ran, reached);
            timer.checkInvariants();
        }
        EXPECT_EQ(timer.pendingTimeouts(), all.size() - ran);
        EXPECT_GT(other.remaining(), 23h) << "no other timer moves";
    }
    figure("G15", "early after a wall clock was set", std::size_t{early}, exactly(0),
           Of{all.size(), 100'000});
}

// What is scheduled while the clock is behind the wheels comes at its time, not when the clock has
// caught up.
TEST(WallClockSteps, LetTheWheelsTurnBack) {
    SettableClock clock{kNine, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    std::vector<int> order;
    timer.newTimeout([&] { order.push_back(10); }, kNine + 1h);
    timer.newTimeout([&] { order.push_back(9); }, kNine + 10ms);
    clock.set(kNine + 30min);
    timer.advanceTo(clock.now());
    EXPECT_EQ(order, (std::vector{9}));
    clock.set(kNine - 1h);
    timer.newTimeout([&] { order.push_back(8); }, kNine - 30min);
    timer.newTimeout([&] { order.push_back(9); }, kNine);
    for (auto const time : {kNine - 30min - 1ns, kNine - 30min, kNine - 1ns, kNine, kNine + 1h}) {
        clock.set(time);
        timer.advanceTo(time);
        timer.checkInvariants();
    }
    EXPECT_EQ(order, (std::vector{9, 8, 9, 10}));
}

TEST(WallClockSteps, LeaveWhatIsDueAlreadyDue) {
    SettableClock clock{kNine, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    timer.newTimeout([] {}, kNine + 1ms);
    clock.set(kNine + 1h);
    timer.advanceTo(clock.now());
    bool ran = false;
    timer.newTimeout([&] { ran = true; }, kNine);  // is past
    clock.set(kNine - 1h);
    timer.newTimeout([] {}, kNine);  // turns the wheels back
    timer.checkInvariants();
    timer.advanceTo(clock.now());
    EXPECT_TRUE(ran);
}

TEST(WallClockSteps, KeepHandlesAndHooksInHand) {
    struct Session {
        int ended = 0;
        void end() { ++ended; }
        TimerHook<&Session::end> hook{*this};
    };
    SettableClock clock{kNine, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    clock.set(kNine + 1h);
    timer.advanceTo(clock.now());
    std::deque<Session> sessions(1'000);
    for (std::size_t i = 0; i < sessions.size(); ++i)
        timer.schedule(sessions[i].hook, std::chrono::minutes{i + 1});
    clock.set(kNine);
    timer.newTimeout([] {}, 1s);  // now they are gathered
    EXPECT_EQ(timer.pendingTimeouts(), sessions.size() + 1);
    EXPECT_TRUE(sessions[0].hook.cancel());
    EXPECT_TRUE(sessions[1].hook.reschedule(2s));                 // earlier
    EXPECT_TRUE(sessions[2].hook.reschedule(kNine + 24h * 400));  // later
    timer.checkInvariants();
    clock.set(kNine + 2s);
    timer.advanceTo(clock.now());
    EXPECT_EQ(sessions[0].ended, 0);
    EXPECT_EQ(sessions[1].ended, 1);
    EXPECT_EQ(sessions[2].ended, 0);
    timer.checkInvariants();
    EXPECT_EQ(timer.pendingTimeouts(), sessions.size() - 2);
    clock.set(kNine + 24h);
    timer.advanceTo(clock.now());
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
    EXPECT_EQ(sessions[3].ended, 1);
    clock.set(kNine);
    EXPECT_EQ(timer.cancelAll(), 1U);
}

TEST(WallClockSteps, MayComeWhileWhatTheyMovedIsOnItsWay) {
    SettableClock clock{kNine, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    std::vector<TimePoint> order;
    for (int i = 0; i < 2'000; ++i) {
        TimePoint const deadline = kNine + 3h + (i * 7919 % 2'000) * 1s;
        timer.newTimeout([&order, deadline] { order.push_back(deadline); }, deadline);
    }
    for (auto const step : {2h, 1h, -5h, 4h, -1h}) {
        clock.set(kNine + step);
        timer.advanceTo(clock.now(), 1);
        timer.newTimeout([] {}, 1h);
        timer.checkInvariants();
    }
    clock.set(kNine + 24h);
    timer.advanceTo(clock.now());
    EXPECT_EQ(order.size(), 2'000U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(WallClockSteps, EndACancelAllAsWell) {
    SettableClock clock{kNine, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    clock.set(kNine + 1h);
    timer.advanceTo(clock.now());
    for (int i = 0; i < 1'000; ++i) timer.newTimeout([] {}, std::chrono::minutes{i + 1});
    clock.set(kNine);
    Timeout const last = timer.newTimeout([] {}, 1s);
    EXPECT_EQ(timer.cancelAll(), 1'001U);
    EXPECT_TRUE(last.isCancelled());
    timer.checkInvariants();
    bool ran = false;
    timer.newTimeout([&] { ran = true; }, 1s);
    clock.set(kNine + 1s);
    timer.advanceTo(clock.now());
    EXPECT_TRUE(ran);
}

TEST(WallClockSteps, AreFollowedByPeriodicTasks) {
    SettableClock clock{kNine, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    std::vector<TimePoint> runs;
    timer.scheduleAtFixedRate([&] { runs.push_back(clock.now()); }, 1h, 1h);
    for (auto const time : {1h, 2h, 0h, 1h, 2h, 3h, 7h, 8h}) {
        clock.set(kNine + time);
        timer.advanceTo(clock.now());
    }
    // The third run was due at 12:00, whatever happened before.
    EXPECT_EQ(runs, (std::vector{kNine + 1h, kNine + 2h, kNine + 3h, kNine + 7h, kNine + 8h}));
}

// Bug pattern: what was due when the clock was set back counts as rescheduled.
TEST(WallClockSteps, LeaveAFixedRateOnItsGridWhereARunWasDue) {
    SettableClock clock{kNine, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    Timeout const task = timer.scheduleAtFixedRate([] {}, 5ms, 10ms, MissedTicks::catchUp);
    clock.set(kNine + 37ms);
    timer.advanceTo(clock.now(), 1);  // the run of 15 ms is due, and waits
    clock.set(kNine + 20ms);
    timer.advanceTo(clock.now());
    EXPECT_EQ(task.deadline(), kNine + 25ms);
}

TEST(WallClockSteps, DuringARunDelayTheNextOne) {
    SettableClock clock{kNine, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    Timeout const task = timer.scheduleWithFixedDelay([&] { clock.set(kNine - 2h); }, 1s, 1h);
    clock.set(kNine + 1s);
    timer.advanceTo(clock.now());
    EXPECT_EQ(task.deadline(), kNine - 1h);
}

// Bug pattern: while some have no place yet, the wheel goes on, or what has one expires.
TEST(WallClockSteps, GiveAllTheirPlacesBeforeAnythingExpires) {
    SettableClock clock{kNine + 1h, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    std::vector<int> order;
    auto const schedule = [&](int number, TimePoint deadline) {
        timer.newTimeout([&order, number] { order.push_back(number); }, deadline);
    };
    for (int i = 0; i < 1'000; ++i) {
        int const number = i * 7919 % 1'000;
        schedule(number, kNine + 3h + number * 1s);
    }
    clock.set(kNine);
    schedule(1'000, kNine + 4h);  // takes the others out of their places
    clock.set(kNine + 5h);
    schedule(1'001, kNine);  // is past
    timer.advanceTo(clock.now());
    EXPECT_EQ(order.size(), 1'002U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

#if defined(__linux__)  // has descriptors for a wall clock
// Bug pattern: what waited for its new place is gone, and the loop is called for it for ever.
TEST(WallClockSteps, LeaveALoopInPeaceOnceItsTimerIsStopped) {
    SettableClock clock{kNine, Clock::Kind::wall};
    LoopTimer timer{{.clock = clock}};
    for (int i = 0; i < 600; ++i) timer.newTimeout([] {}, 1h);
    clock.set(kNine - 1h);
    timer.newTimeout([] {}, 1h);  // turns the wheel back
    EXPECT_EQ(timer.stop().size(), 601U);
    EXPECT_FALSE(timer.runDue());
    EXPECT_FALSE(isReadableWithin(timer.nativeHandle(), 0ms));
}
#endif

TEST(WallClockSteps, ShowAnObserverTheBucketsThatAreArmedAnew) {
    struct Arms final : TimerObserver {
        void onEvent(TimerEvent const& event) noexcept override {
            if (event.stage == TimerEvent::Stage::restart) count = 0;
            if (event.stage == TimerEvent::Stage::arm) ++count;
        }
        int count = 0;
    };
    SettableClock clock{kNine, Clock::Kind::wall};
    Arms arms;
    ManualTimer timer{{.clock = clock, .observer = &arms}};
    for (auto const delay : {1ms, 50ms, 1000ms}) timer.newTimeout([] {}, delay);
    clock.set(kNine - 1h);
    timer.advanceTo(clock.now());
    EXPECT_EQ(arms.count, 1) << "one slot of an hour's level holds them all";
}

TEST(WallClockSteps, MayLeadBehind1970) {
    SettableClock clock{TimePoint{} - 24h, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    int runs = 0;
    timer.newTimeout([&] { ++runs; }, 1h);
    clock.add(1h);
    timer.advanceTo(clock.now());
    EXPECT_EQ(runs, 1);
}

TEST(WallClockSteps, BeforeTheStartLetNothingRun) {
    SettableClock clock{TimePoint{} + 24h, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    int ran = 0;
    timer.newTimeout([&] { ++ran; }, 1h);
    clock.set(TimePoint{} - 24h);  // 1969
    timer.newTimeout([&] { ++ran; }, 1h);
    timer.checkInvariants();
    timer.advanceTo(clock.now() + 2h);
    EXPECT_EQ(ran, 0);
    clock.set(TimePoint{});
    timer.advanceTo(clock.now());
    EXPECT_EQ(ran, 1) << "late, since the timer begins in 1970";
    clock.set(TimePoint{} + 25h);
    timer.advanceTo(clock.now());
    EXPECT_EQ(ran, 2);
}

// Bug pattern: a pass goes on to the time that it was called with, and what its tasks schedule by
// a clock that is behind that runs again and again.
TEST(WallClockSteps, EndThePassThatTheyComeIn) {
    SettableClock clock{kNine + 1h, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    int runs = 0;
    timer.scheduleWithFixedDelay(
        [&](Timeout const& self) {
            if (++runs == 1) clock.set(kNine);
            if (runs == 1'000) self.cancel();
        },
        1s, 1s);
    clock.add(1s);
    EXPECT_FALSE(timer.advanceTo(clock.now()));
    EXPECT_EQ(runs, 1);
    timer.checkInvariants();
    clock.add(1s);
    timer.advanceTo(clock.now());
    EXPECT_EQ(runs, 2);
}

TEST(WallClockSteps, HoldBackAnAdvanceThatIsAheadOfTheClock) {
    SettableClock clock{kNine, Clock::Kind::wall};
    ManualTimer timer{{.clock = clock}};
    int runs = 0;
    timer.newTimeout([&] { ++runs; }, 1min);
    timer.advanceTo(kNine + 1h);
    EXPECT_EQ(runs, 0);
    clock.set(kNine + 1min);
    timer.advanceTo(kNine + 1h);
    EXPECT_EQ(runs, 1);
}

// Bug pattern: more ticks than can be counted have passed since 1970, and nothing is ever due.
TEST(WallClockSteps, NeedATickThatReachesFrom1970) {
    SettableClock clock{kNine, Clock::Kind::wall};
    expectThrows<std::invalid_argument>(
        [&] { ManualTimer({.tick = 1ns, .clock = clock}); },
        "tick is 1 ns: it must be long enough that at most 288230376151711743 have passed since "
        "1970, unless start is set");
    ManualTimer timer{{.tick = 1ns, .start = kNine, .clock = clock}};
    int runs = 0;
    timer.newTimeout([&] { ++runs; }, 20ns);
    clock.add(20ns);
    timer.advanceTo(clock.now());
    EXPECT_EQ(runs, 1);
}

TEST(WallClockSteps, AlignSlotsToTheDaysOfUtc) {
    SettableClock clock{kNine, Clock::Kind::wall};
    struct Last final : TimerObserver {
        void onEvent(TimerEvent const& event) noexcept override {
            if (event.stage == TimerEvent::Stage::place) place = {event.level, event.slot};
        }
        std::tuple<std::uint32_t, std::uint32_t> place{};
    };
    Last seen;
    ManualTimer timer{
        {.tick = 1s, .levelSizes = {60, 60, 24, 7}, .clock = clock, .observer = &seen}};
    timer.newTimeout([] {}, kNine + 30min);
    EXPECT_EQ(seen.place, std::make_tuple(1U, 30U)) << "the minutes' slot of 9:30";
    timer.newTimeout([] {}, kNine + 8h + 12min);
    EXPECT_EQ(seen.place, std::make_tuple(2U, 17U)) << "the hours' slot of 17:12";
}

// Against the simplest timer that there is: a multimap by deadline, of which all runs that the
// clock has reached.
TEST(WallClockSteps, DoWhatAMultimapDoes) {
    std::uint64_t const first = seedOr(1);
    std::uint64_t const courses = rounds(100, 2'000);
    for (std::uint64_t seed = first; seed < first + courses; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937_64 random{seed};
        auto const upTo = [&](std::int64_t bound) {
            return std::uniform_int_distribution<std::int64_t>{0, bound}(random);
        };
        SettableClock clock{kNine, Clock::Kind::wall};
        ManualTimer timer{{.tick = std::chrono::milliseconds{1 + upTo(20)}, .clock = clock}};
        std::chrono::nanoseconds const tick = timer.tick();
        auto const rounded = [&](TimePoint time) {
            return TimePoint{(time.time_since_epoch() + tick - 1ns) / tick * tick};
        };
        std::multimap<TimePoint, int> model;
        std::map<int, Timeout> handles;
        std::vector<int> ran;
        int next = 0;
        for (int turn = 0; turn < 60; ++turn) {
            std::int64_t const scale = std::int64_t{1} << upTo(35);
            auto const some = std::chrono::milliseconds{1 + upTo(scale)};
            switch (upTo(4)) {
                case 0:
                    clock.set(clock.now() - some);
                    break;
                case 1:
                    clock.set(clock.now() + some);
                    break;
                case 2: {
                    if (model.empty()) break;
                    auto victim =
                        std::next(model.begin(), upTo(static_cast<std::int64_t>(model.size()) - 1));
                    int const id = victim->second;
                    model.erase(victim);
                    if (upTo(1) == 0) {
                        ASSERT_TRUE(handles[id].cancel());
                    } else {
                        ASSERT_TRUE(timer.reschedule(handles[id], some));
                        model.emplace(rounded(clock.now() + some), id);
                    }
                    break;
                }
                default:
                    for (std::int64_t i = upTo(5); i >= 0; --i) {
                        auto const after = some + std::chrono::milliseconds{upTo(scale)};
                        int const id = next++;
                        handles[id] = timer.newTimeout([&ran, id] { ran.push_back(id); }, after);
                        model.emplace(rounded(clock.now() + after), id);
                    }
            }
            timer.checkInvariants();
            if (upTo(1) == 0) continue;
            timer.advanceTo(clock.now());
            ASSERT_EQ(timer.pendingTimeouts() + ran.size(), model.size());
            auto const end = model.upper_bound(clock.now());
            std::map<int, TimePoint> due;
            for (auto each = model.begin(); each != end; ++each) due[each->second] = each->first;
            model.erase(model.begin(), end);
            TimePoint last = TimePoint::min();
            for (int const id : ran) {
                ASSERT_TRUE(due.contains(id));
                ASSERT_GE(due[id], last) << "in order";
                last = due[id];
                due.erase(id);
            }
            ASSERT_TRUE(due.empty())
                << "turn " << turn << ", " << due.size() << " of " << ran.size();
            ran.clear();
        }
    }
}

}  // namespace
}  // namespace timingwheel::test
