// When HashedWheelTimer runs its tasks, in which order, and what its states allow: what Netty's own
// cases do not test.

#include <support/AllocationCounter.h>
#include <support/DriverThreads.h>
#include <support/Effort.h>
#include <support/Handles.h>
#include <support/HashedWheel.h>
#include <support/Threads.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

// Shows G1, G2, G9, G12, G13, G14, G15, G21, G23.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

using HashedWheelTimerTest = OfHashedWheel;

// ---- deadlines and ticks -----------------------------------------------------------------------

/// Schedules one task for each delay and expects each to run at exactly the tick after it. The
/// timer has just been started.
void expectTicks(ManualClock& clock, HashedWheelTimer& timer,
                 std::vector<nanoseconds> const& delays) {
    nanoseconds const tick = timer.tick();
    auto const start = clock.now();
    nanoseconds last{0};
    std::size_t runs = 0;
    for (nanoseconds const delay : delays) {
        nanoseconds const due = tickAfter(std::max(delay, nanoseconds{0}), tick);
        last = std::max(last, due);
        timer.newTimeout(
            [&, delay, due] {
                ++runs;
                EXPECT_EQ(clock.now() - start, due) << "delay " << delay.count() << " ns";
            },
            delay);
    }
    clock.advance(last);
    EXPECT_EQ(runs, delays.size());
}

// Late by (0, tick], also where the deadline is that of a tick. Bug patterns: an exact multiple of
// a wheel's turn is a lap off; one less than a turn runs at once.
TEST_F(HashedWheelTimerTest, RunsAtTheTickAfterTheDeadline) {
    for (nanoseconds const tick : {nanoseconds{1ms}, nanoseconds{7ms}, nanoseconds{100ms}}) {
        for (std::int64_t const slots : {1, 2, 8, 64}) {
            SCOPED_TRACE(testing::Message() << tick.count() << " ns x " << slots);
            HashedWheelTimer timer{options({.tick = tick, .ticksPerWheel = slots})};
            timer.start();
            std::vector<nanoseconds> delays;
            for (std::int64_t const ticks : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2},
                                             slots - 1, slots, slots + 1, 2 * slots, 3 * slots + 1})
                for (nanoseconds const off : {-tick / 2, -1ns, 0ns, 1ns, tick / 2})
                    delays.push_back(ticks * tick + off);
            expectTicks(clock, timer, delays);
        }
    }
}

TEST_F(HashedWheelTimerTest, IsNeverEarlyAndAtMostATickLateAtAnyPhase) {
    std::uint64_t const seed = seedOr(41);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    std::size_t const count = scaled(100'000);
    std::size_t runs = 0;
    std::size_t wrong = 0;
    for (nanoseconds const tick : {nanoseconds{1ms}, nanoseconds{10ms}, nanoseconds{1'234'567ns}}) {
        for (std::int64_t const slots : {1, 4, 512}) {
            HashedWheelTimer timer{options({.tick = tick, .ticksPerWheel = slots})};
            timer.start();
            auto const start = now();
            std::uniform_int_distribution<std::int64_t> delay{-tick.count(), 300 * tick.count()};
            std::uniform_int_distribution<std::int64_t> step{0, 3 * tick.count()};
            for (std::size_t i = 0; i < count / 9; ++i) {
                nanoseconds const after{delay(random)};
                nanoseconds const due =
                    tickAfter(now() - start + std::max(after, nanoseconds{0}), tick);
                timer.newTimeout(
                    [&, start, due] {
                        ++runs;
                        wrong += now() - start == due ? 0U : 1U;
                    },
                    after);
                if (i % 8 == 0) clock.advance(nanoseconds{step(random)});
            }
            clock.advance(302 * tick);
            EXPECT_EQ(timer.pendingTimeouts(), 0U);
        }
    }
    EXPECT_EQ(runs, count / 9 * 9);
    Of const all{count, 100'000};
    figure("G1", "not at the tick after the deadline, HashedWheelTimer", wrong, exactly(0), all);
    figure("G2", "not at the tick after the deadline, HashedWheelTimer", wrong, exactly(0), all);
}

TEST_F(HashedWheelTimerTest, RunsZeroAndNegativeDelaysAtTheNextTick) {
    HashedWheelTimer timer{options({.ticksPerWheel = 4})};
    timer.start();
    clock.advance(1030ms);  // a few turns later
    std::vector<nanoseconds> ranAt;
    for (Duration const delay : {Duration{0ms}, Duration{-1ns}, Duration{-100ms}, Duration{-450ms},
                                 Duration{-100h}, Duration{nanoseconds::min()}})
        timer.newTimeout([&] { ranAt.push_back(now()); }, delay);
    clock.advance(69ms);
    EXPECT_TRUE(ranAt.empty());
    clock.advance(1ms);
    EXPECT_EQ(ranAt, (std::vector<nanoseconds>(6, 1100ms)));
}

TEST_F(HashedWheelTimerTest, TakesADelayThatOverflowsForNever) {
    ManualClock late{Clock::TimePoint::max() - 2h};
    TimerLogBook book;
    HashedWheelTimer timer{{.clock = late, .logger = book.logger()}};
    std::vector<Timeout> nevers;
    int runs = 0;
    for (Duration const delay :
         {Duration::max(), Duration{std::chrono::hours::max()}, Duration{nanoseconds::max() - 1ns},
          Duration{3h}, Duration{std::chrono::duration<double>{1e300}}})
        nevers.push_back(timer.newTimeout([&] { ++runs; }, delay));
    Timeout const near = timer.newTimeout([&] { ++runs; }, 1s);
    late.advance(1100ms);
    EXPECT_TRUE(near.isExpired());
    late.jump(1h);
    EXPECT_EQ(runs, 1);
    for (Timeout const& never : nevers) {
        EXPECT_TRUE(never.isPending());
        EXPECT_EQ(never.deadline(), Clock::TimePoint::max());
        EXPECT_EQ(never.remaining(), nanoseconds::max());
        EXPECT_EQ(printed(never), "timeout(pending, never due)");
    }
    EXPECT_EQ(timer.stop().size(), nevers.size());
}

// A deadline that the clock can express but the tick after it cannot.
TEST_F(HashedWheelTimerTest, TakesATickThatOverflowsForNever) {
    for (nanoseconds const tick : {nanoseconds{1ms}, nanoseconds{1h}, nanoseconds::max() / 4}) {
        HashedWheelTimer timer{options({.tick = tick, .ticksPerWheel = 2})};
        int runs = 0;
        Timeout const last = timer.newTimeout([&] { ++runs; }, nanoseconds::max() - 2ns - now());
        Timeout const first = timer.newTimeout([&] { ++runs; }, 0ms);
        clock.jump(tick);
        EXPECT_EQ(runs, 1);
        EXPECT_TRUE(first.isExpired());
        EXPECT_TRUE(last.isPending());
        clock.jumpTo(Clock::TimePoint{});
    }
}

TEST_F(HashedWheelTimerTest, CountsTicksFromItsStart) {
    for (bool const isStartedByHand : {false, true}) {
        HashedWheelTimer timer{options()};
        nanoseconds const made = now();
        clock.advance(30ms);
        if (isStartedByHand) {
            timer.start();
            clock.advance(20ms);
        }
        nanoseconds ranAt{0};
        timer.newTimeout([&] { ranAt = now() - made; }, 0ms);
        clock.advance(200ms);
        EXPECT_EQ(ranAt, 130ms);
    }
}

// The grid is that of the start, however long nothing was pending. Bug pattern: the first after a
// rest is placed relative to where the wheel stood.
TEST_F(HashedWheelTimerTest, KeepsToItsTicksAfterARest) {
    HashedWheelTimer timer{options({.ticksPerWheel = 8})};
    clock.advance(30ms);
    timer.start();
    for (nanoseconds const rest : {nanoseconds{10s}, nanoseconds{800ms}, nanoseconds{1h + 1ns}}) {
        clock.jump(rest);
        for (nanoseconds const delay : {nanoseconds{0}, nanoseconds{950ms}}) {
            nanoseconds ranAt{0};
            timer.newTimeout([&] { ranAt = now(); }, delay);
            nanoseconds const due = 30ms + tickAfter(now() - 30ms + delay, 100ms);
            clock.advance(1100ms);
            EXPECT_EQ(ranAt, due);
        }
    }
}

// G14
TEST_F(HashedWheelTimerTest, WorksFromAnyStartOfTheClock) {
    std::vector<std::int64_t> starts{0, -1, INT64_MIN, INT64_MAX - 10'000'000'000};
    for (int k = 0; k < 63; ++k) starts.push_back((std::int64_t{1} << k) - 5);
    std::size_t right = 0;
    for (std::int64_t const start : starts) {
        SCOPED_TRACE(start);
        ManualClock from{Clock::TimePoint{nanoseconds{start}}};
        HashedWheelTimer timer{
            {.tick = 10ms, .ticksPerWheel = 4, .clock = from, .leakDetection = false}};
        timer.start();
        std::vector<nanoseconds> delays;
        for (std::int64_t tick = 0; tick < 50; ++tick) delays.push_back(tick * 7ms);
        expectTicks(from, timer, delays);
        right += HasFailure() ? 0U : 1U;
    }
    figure("G14", "starts from which each runs at its tick, HashedWheelTimer", right, exactly(67));
}

TEST_F(HashedWheelTimerTest, SaysWhenATimeoutIsDue) {
    HashedWheelTimer timer{options({.ticksPerWheel = 4})};
    timer.start();
    clock.advance(30ms);
    Timeout const t = timer.newTimeout([] {}, 250ms);  // at 280, so at the tick of 300
    EXPECT_GE(t.deadline(), Clock::TimePoint{280ms});
    EXPECT_LE(t.deadline(), Clock::TimePoint{300ms});
    auto const deadline = t.deadline();
    EXPECT_EQ(t.remaining(), deadline - clock.now());
    clock.advance(100ms);  // it is in its slot now
    EXPECT_EQ(t.deadline(), deadline);
    EXPECT_EQ(t.remaining(), deadline - clock.now());
    clock.advance(170ms);
    EXPECT_EQ(answersOf(t), kExpired);
    EXPECT_EQ(t.deadline(), deadline);
    EXPECT_EQ(t.remaining(), 0ns);
}

// ---- order -------------------------------------------------------------------------------------

// However far away they were when they came, and whatever came first within the tick.
TEST_F(HashedWheelTimerTest, RunsWhatIsDueInOneTickInTheOrderOfArrival) {
    HashedWheelTimer timer{options({.tick = 10ms, .ticksPerWheel = 4})};
    timer.start();
    std::vector<int> order;
    auto const add = [&](int number, nanoseconds at) {
        timer.newTimeout([&order, number] { order.push_back(number); }, at - now());
    };
    add(0, 99ms);
    add(1, 91ms);
    add(2, 95ms);
    clock.advance(20ms);
    add(3, 90ms);
    clock.advance(55ms);
    add(4, 98ms);
    add(5, 90ms);
    clock.advance(20ms);
    add(6, 0ms);
    add(7, 99ms);
    clock.advance(4ms);
    EXPECT_TRUE(order.empty());
    clock.advance(1ms);
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(HashedWheelTimerTest, RunsOneTickAfterTheOtherAndEachInTheOrderOfArrival) {
    std::uint64_t const seed = seedOr(42);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    struct Run {
        std::int64_t tick;
        std::size_t arrival;
        auto operator<=>(Run const&) const = default;
    };
    std::size_t inversions = 0;
    std::size_t runs = 0;
    for (bool const isLate : {false, true}) {
        for (std::int64_t const slots : {1, 4, 256}) {
            HashedWheelTimer timer{options({.tick = 1ms, .ticksPerWheel = slots})};
            timer.start();
            nanoseconds const start = now();
            std::vector<Run> order;
            for (std::size_t i = 0; i < 3000; ++i) {
                nanoseconds const delay{static_cast<std::int64_t>(random() % 100'000'000)};
                Run const run{tickAfter(now() - start + delay, 1ms) / 1ms, i};
                timer.newTimeout([&order, run] { order.push_back(run); }, delay);
                if (i % 100 == 99 && !isLate) clock.advance(300us);
            }
            isLate ? clock.jump(101ms) : clock.advance(101ms);
            EXPECT_EQ(order.size(), 3000U);
            for (std::size_t i = 1; i < order.size(); ++i)
                inversions += order[i] < order[i - 1] ? 1U : 0U;
            runs += order.size();
        }
    }
    figure("G12", "inversions of tick and arrival, HashedWheelTimer", inversions, exactly(0),
           {runs, 18'000});
}

// Arrival is per thread what the thread did.
TEST_F(HashedWheelTimerTest, KeepsTheOrderInWhichEachThreadScheduled) {
    constexpr std::size_t kThreads = 4;
    std::size_t const each = scaled(5'000);
    HashedWheelTimer timer{options({.tick = 1ms, .ticksPerWheel = 4})};
    std::vector<std::vector<std::size_t>> order(kThreads);
    together(kThreads, [&](std::size_t thread) {
        for (std::size_t i = 0; i < each; ++i)
            timer.newTimeout([&order, thread, i] { order[thread].push_back(i); }, 6500us);
    });
    EXPECT_EQ(timer.pendingTimeouts(), kThreads * each);
    clock.advance(7ms);
    for (auto const& ofThread : order) {
        EXPECT_EQ(ofThread.size(), each);
        EXPECT_TRUE(std::is_sorted(ofThread.begin(), ofThread.end()));
    }
}

// ---- what a tick does --------------------------------------------------------------------------

// The 100,001st waits for the next tick although it is due.
TEST_F(HashedWheelTimerTest, TakesAtMost100000NewTimeoutsEachTick) {
    constexpr std::size_t kMost = 100'000;
    HashedWheelTimer timer{options({.tick = 10ms})};
    timer.start();
    std::vector<std::size_t> order;
    order.reserve(2 * kMost + 3);
    for (std::size_t i = 0; i < 2 * kMost + 3; ++i)
        timer.newTimeout([&order, i] { order.push_back(i); }, 0ms);
    EXPECT_EQ(timer.pendingTimeouts(), 2 * kMost + 3);
    clock.advance(10ms);
    EXPECT_EQ(order.size(), kMost);
    EXPECT_EQ(timer.pendingTimeouts(), kMost + 3);
    // A newer one comes behind those that wait.
    timer.newTimeout([&order] { order.push_back(2 * kMost + 3); }, 0ms);
    clock.advance(10ms);
    EXPECT_EQ(order.size(), 2 * kMost);
    clock.advance(10ms);
    EXPECT_EQ(order.size(), 2 * kMost + 4);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// G9
TEST_F(HashedWheelTimerTest, StarvesNobodyForATaskThatIsDueAgainAtOnce) {
    HashedWheelTimer timer{options({.tick = 1ms, .ticksPerWheel = 4})};
    timer.start();
    nanoseconds const end = now() + 100ms;
    std::function<void()> const again = [&] {
        if (now() < end) timer.newTimeout(again, -5ms);
    };
    timer.newTimeout(again, 0ms);
    nanoseconds latest{0};
    std::uint64_t runs = 0;
    for (int i = 0; i < 100; ++i) {
        nanoseconds const due = now() + i * 370us;
        timer.newTimeout(
            [&, due] {
                ++runs;
                latest = std::max(latest, now() - due);
            },
            due - now());
    }
    clock.advance(150ms);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    figure("G9", "late at most, in ticks, HashedWheelTimer", latest / 1.0ms, atMost(2),
           {runs, 100});
}

// A late worker walks every tick that it missed, and takes 100,000 at each of them.
TEST_F(HashedWheelTimerTest, CatchesUpTickByTick) {
    constexpr std::size_t kMost = 100'000;
    HashedWheelTimer timer{options({.tick = 10ms})};
    timer.start();
    std::size_t runs = 0;
    for (std::size_t i = 0; i < kMost + 1; ++i) timer.newTimeout([&runs] { ++runs; }, 0ms);
    clock.jump(20ms);
    EXPECT_EQ(runs, kMost + 1);
}

TEST_F(HashedWheelTimerTest, RunsEverythingDueInOrderWhenItIsLate) {
    HashedWheelTimer timer{options({.tick = 10ms, .ticksPerWheel = 4})};
    timer.start();
    std::vector<std::string> order;
    auto const add = [&](std::string name, nanoseconds delay) {
        timer.newTimeout([&order, name = std::move(name)] { order.push_back(name); }, delay);
    };
    add("at 305", 305ms);
    add("at 45", 45ms);
    add("at 1005", 1005ms);
    add("at 5", 5ms);
    timer.newTimeout(
        [&] {
            order.push_back("at 15");
            add("from 15", 0ms);  // due when the walk has reached now
        },
        15ms);
    add("at 85", 85ms);
    add("at 995", 995ms);
    clock.jump(1000ms);
    EXPECT_EQ(order,
              (std::vector<std::string>{"at 5", "at 15", "at 45", "at 85", "at 305", "at 995"}));
    clock.advance(10ms);
    EXPECT_EQ(order.size(), 8U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// Bug pattern: the driver overslept several ticks, and what came just before is placed relative to
// where the wheel stood.
TEST_F(HashedWheelTimerTest, ALocationIsRightAlsoWhenTheWorkerIsLate) {
    Watchdog const watchdog{"a worker that is late"};
    SettableClock slow;
    Latch entered;
    Latch leave;
    Latch done;
    HashedWheelTimer timer{
        {.tick = 10ms, .ticksPerWheel = 8, .clock = slow, .leakDetection = false}};
    timer.start();
    timer.newTimeout(
        [&] {
            entered.open();
            leave.wait();
        },
        5ms);
    slow.add(10ms);
    entered.wait();
    slow.add(90ms);  // nine ticks were missed
    nanoseconds ranAt{0};
    timer.newTimeout(
        [&] {
            ranAt = slow.now().time_since_epoch();
            done.open();
        },
        25ms);  // at 125
    leave.open();
    for (nanoseconds const time : {109ms, 119ms, 129ms}) {
        slow.set(Clock::TimePoint{time});
        EXPECT_EQ(timer.pendingTimeouts(), 1U) << time.count();
    }
    slow.set(Clock::TimePoint{130ms});
    done.wait();
    EXPECT_EQ(ranAt, 130ms);
}

TEST_F(HashedWheelTimerTest, RunsATimeoutThatATaskMadeWithoutDelayOneTickLater) {
    HashedWheelTimer timer{options({.tick = 10ms, .ticksPerWheel = 2})};
    std::vector<nanoseconds> ranAt;
    std::function<void()> const again = [&] {
        ranAt.push_back(now());
        if (ranAt.size() < 4) timer.newTimeout(again, ranAt.size() == 2 ? -5ms : 0ms);
    };
    timer.newTimeout(again, 5ms);
    clock.advance(1s);
    EXPECT_EQ(ranAt, (std::vector<nanoseconds>{10ms, 20ms, 30ms, 40ms}));
}

TEST_F(HashedWheelTimerTest, RunsATaskThatSchedulesItselfForATickEverySecondTick) {
    for (std::int64_t const slots : {1, 2, 512}) {
        HashedWheelTimer timer{options({.tick = 10ms, .ticksPerWheel = slots})};
        nanoseconds const start = now();
        std::vector<nanoseconds> ranAt;
        std::function<void()> const again = [&] {
            ranAt.push_back(now() - start);
            if (ranAt.size() < 4) timer.newTimeout(again, 10ms);
        };
        timer.newTimeout(again, 10ms);
        clock.advance(100ms);
        EXPECT_EQ(ranAt, (std::vector<nanoseconds>{20ms, 40ms, 60ms, 80ms}));
    }
}

/// Counts how often, and notes until when, a driver sleeps.
class SleepLog final : public Clock {
public:
    TimePoint now() const noexcept override { return inner_.now(); }
    std::unique_ptr<Waiter> makeWaiter() override {
        return waiterThat(inner_.makeWaiter(), [this](Waiter& inner, TimePoint until) {
            last_ = until;
            inner.waitUntil(until);
        });
    }
    void set(TimePoint time) { inner_.set(time); }
    /// Waits until the driver wants to sleep until then.
    void waitForSleepUntil(TimePoint time) {
        waitUntil([&] { return last_.load() == time; });
    }

private:
    SettableClock inner_;
    std::atomic<TimePoint> last_{TimePoint{}};
};

TEST_F(HashedWheelTimerTest, SleepsFromTickToTickWhileSomethingIsPendingAndForGoodOtherwise) {
    Watchdog const watchdog{"a worker that sleeps"};
    constexpr auto kForGood = Clock::TimePoint::max();
    SleepLog sleeps;
    HashedWheelTimer timer{{.clock = sleeps, .leakDetection = false}};
    timer.start();
    sleeps.waitForSleepUntil(kForGood);
    std::atomic<int> runs{0};
    timer.newTimeout([&] { ++runs; }, 350ms);
    for (nanoseconds const tick : {100ms, 200ms, 300ms}) {
        sleeps.waitForSleepUntil(Clock::TimePoint{tick});
        sleeps.set(Clock::TimePoint{tick});
    }
    sleeps.waitForSleepUntil(Clock::TimePoint{400ms});
    EXPECT_EQ(runs, 0);
    sleeps.set(Clock::TimePoint{400ms});
    sleeps.waitForSleepUntil(kForGood);
    EXPECT_EQ(runs, 1);
    // One that was cancelled keeps it awake until its tick, and no longer.
    EXPECT_TRUE(timer.newTimeout([] {}, 1h).cancel());
    sleeps.waitForSleepUntil(Clock::TimePoint{500ms});
    sleeps.set(Clock::TimePoint{500ms});
    sleeps.waitForSleepUntil(kForGood);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

TEST_F(HashedWheelTimerTest, WakesOnceForEachTickWhileSomethingIsPendingAndNotOtherwise) {
    HashedWheelTimer timer{options({.tick = 10ms, .ticksPerWheel = 16})};
    timer.start();
    clock.advance(0ms);
    auto const wakeUpsOf = [&](nanoseconds time) {
        std::uint64_t const before = timer.statistics().wakeUps;
        clock.advance(time);
        return timer.statistics().wakeUps - before;
    };
    EXPECT_EQ(wakeUpsOf(1h), 0U);
    timer.newTimeout([] {}, 995ms);
    clock.advance(0ms);
    std::uint64_t const pending = wakeUpsOf(1s);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    figure("G21", "wake-ups in 100 ticks with a timeout, HashedWheelTimer", pending, exactly(100));
    figure("G21", "wake-ups of an empty timer in an hour, HashedWheelTimer", wakeUpsOf(1h),
           exactly(0));
}

// ---- states ------------------------------------------------------------------------------------

TEST_F(HashedWheelTimerTest, MayBeStartedTwice) {
    int made = 0;
    HashedWheelTimer timer{options({.threadFactory = [&](std::function<void()> body) {
        ++made;
        return std::thread{std::move(body)};
    }})};
    EXPECT_EQ(made, 0);
    timer.start();
    timer.start();
    EXPECT_EQ(made, 1);
    Timeout const t = timer.newTimeout([] {}, 1ms);
    timer.start();
    clock.advance(100ms);
    EXPECT_TRUE(t.isExpired());
    EXPECT_EQ(made, 1);
}

TEST_F(HashedWheelTimerTest, CannotBeStartedOnceStopped) {
    HashedWheelTimer timer{options({.name = "gone"})};
    timer.start();
    static_cast<void>(timer.stop());
    expectThrows<std::logic_error>([&] { timer.start(); }, "cannot be started once stopped");
    expectThrows<std::logic_error>([&] { timer.start(); }, "\"gone\"");
}

TEST_F(HashedWheelTimerTest, CannotBeStartedWhenItWasStoppedBeforeItWasStarted) {
    int made = 0;
    HashedWheelTimer timer{options({.threadFactory = [&](std::function<void()> body) {
        ++made;
        return std::thread{std::move(body)};
    }})};
    EXPECT_TRUE(timer.stop().empty());
    expectThrows<std::logic_error>([&] { timer.start(); }, "cannot be started once stopped");
    EXPECT_THROW(timer.newTimeout([] {}, 1ms), std::logic_error);
    EXPECT_TRUE(timer.stop().empty());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(made, 0);
}

// Netty's count is one too many from then on.
TEST_F(HashedWheelTimerTest, AScheduleThatIsRefusedOnceStoppedIsNotCounted) {
    HashedWheelTimer timer{options({.name = "gone", .maxPendingTimeouts = 3})};
    auto const witness = std::make_shared<int>();
    timer.newTimeout([] {}, 1h);
    EXPECT_EQ(timer.stop().size(), 1U);
    for (int i = 0; i < 10; ++i)
        expectThrows<std::logic_error>([&] { timer.newTimeout([witness] {}, 1ms); }, "\"gone\"");
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(timer.statistics().scheduled, 1U);
    EXPECT_EQ(witness.use_count(), 1);
    clock.advance(1h);
}

// Stopped while it is idle, or before the worker has seen anything, or while it ticks.
TEST_F(HashedWheelTimerTest, CanBeStoppedAtAnyMoment) {
    for (int moment = 0; moment < 4; ++moment) {
        SCOPED_TRACE(moment);
        HashedWheelTimer timer{options({.tick = 24h})};
        if (moment == 1) timer.start();
        if (moment >= 2) timer.newTimeout([] {}, 1h);
        if (moment == 3) clock.advance(1h);
        EXPECT_EQ(timer.stop().size(), moment >= 2 ? 1U : 0U);
        EXPECT_THROW(timer.newTimeout([] {}, 1h), std::logic_error);
    }
}

// ---- the worker thread -------------------------------------------------------------------------

TEST_F(HashedWheelTimerTest, ItsThreadIsNamedAndBlocksSignals) {
    HashedWheelTimer timer{options({.name = "fifteen letters"})};
    Inside inside;
    timer.newTimeout([&] { inside = Inside::look(); }, 1ms);
    clock.advance(100ms);
    EXPECT_EQ(inside.name, "fifteen letters");
    EXPECT_EQ(inside.areSignalsBlocked, kHasSignals);
    EXPECT_FALSE(Inside::look().areSignalsBlocked);
}

TEST_F(HashedWheelTimerTest, TheUsersFactoryMakesItsThread) {
    std::thread::id id;
    std::thread::id ranOn;
    auto const factory = [&](std::function<void()> body) {
        std::thread thread{std::move(body)};
        id = thread.get_id();
        return thread;
    };
    HashedWheelTimer timer{options({.threadFactory = factory})};
    timer.newTimeout([&] { ranOn = std::this_thread::get_id(); }, 1ms);
    clock.advance(100ms);
    EXPECT_EQ(ranOn, id);
    figure("G23", "tasks that ran off the thread that the factory made, HashedWheelTimer",
           ranOn == id ? 0 : 1, exactly(0));
}

// Netty blocks every later caller for ever.
TEST_F(HashedWheelTimerTest, AThreadThatCannotBeStartedIsReportedAndTriedAgain) {
    FailingFactory factory{4};
    auto const witness = std::make_shared<int>();
    HashedWheelTimer timer{options({.maxPendingTimeouts = 1, .threadFactory = std::ref(factory)})};
    for (int i = 0; i < 3; ++i) {
        expectThrows<std::system_error>([&] { timer.newTimeout([witness] {}, 1ms); },
                                        "no more threads");
        EXPECT_EQ(witness.use_count(), 1);
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
    }
    EXPECT_THROW(timer.start(), std::system_error);
    EXPECT_EQ(timer.statistics().scheduled, 0U);
    clock.advance(30ms);
    nanoseconds ranAt{0};
    timer.newTimeout([&] { ranAt = now(); }, 1ms);  // the limit was not used up
    clock.advance(100ms);
    EXPECT_EQ(ranAt, 130ms);  // counted from the start that worked
    figure("G17", "failures to start a thread that changed nothing, HashedWheelTimer",
           factory.calls - 1, exactly(4));
}

TEST_F(HashedWheelTimerTest, WithoutAThreadItCanBeStoppedAndDestroyed) {
    for (bool const isStopped : {false, true}) {
        FailingFactory factory{1000};
        HashedWheelTimer timer{options({.threadFactory = std::ref(factory)})};
        EXPECT_THROW(timer.newTimeout([] {}, 1ms), std::system_error);
        if (isStopped) {
            EXPECT_TRUE(timer.stop().empty());
            EXPECT_THROW(timer.newTimeout([] {}, 1ms), std::logic_error);
        }
        clock.advance(1s);
    }
}

TEST_F(HashedWheelTimerTest, AFactoryThatReturnsNoThreadIsAnError) {
    HashedWheelTimer timer{
        options({.threadFactory = [](std::function<void()>) { return std::thread{}; }})};
    expectThrows<std::logic_error>([&] { timer.newTimeout([] {}, 1ms); }, "threadFactory");
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// ---- memory that fails --------------------------------------------------------------------------

// G16
// What is left behind shows under a leak checker; what is told, here: a timer that there never was
// has leaked nowhere.
TEST_F(HashedWheelTimerTest, ATimerIsMadeOrNothingIsLeft) {
    std::size_t failed = 0;
    for (std::size_t kth = 1;; ++kth) {
        auto made = options({.tick = 1us, .name = "out of memory"});
        bool happened = false;
        try {
            AllocationFailure const failure{kth};
            HashedWheelTimer timer{std::move(made)};
            happened = failure.happened();
            timer.stop();
        } catch (std::bad_alloc const&) {
            happened = true;
        }
        if (!happened) break;
        ++failed;
    }
    EXPECT_EQ(log.count(TimerLog::Level::error), 0U);
    figure("G16", "allocations of a HashedWheelTimer that failed in turn and left nothing", failed,
           atLeast(5));
}

TEST_F(HashedWheelTimerTest, ATimeoutIsScheduledOrNothingHasChanged) {
    constexpr std::size_t kBefore = 64;  // so that one more needs memory on its way to the worker
    std::size_t failed = 0;
    for (std::size_t kth = 1;; ++kth) {
        SCOPED_TRACE(testing::Message() << "allocation " << kth);
        HashedWheelTimer timer{options({.maxPendingTimeouts = kBefore + 1})};
        for (std::size_t i = 0; i < kBefore; ++i) timer.newTimeout([] {}, 1h);
        auto const witness = std::make_shared<int>();
        int runs = 0;
        auto const schedule = [&] { timer.newTimeout([&runs, witness] { ++runs; }, 50ms); };
        bool happened = false;
        try {
            AllocationFailure const failure{kth};
            try {
                schedule();
            } catch (...) {
                happened = failure.happened();
                throw;
            }
            happened = failure.happened();
        } catch (std::bad_alloc const&) {
            EXPECT_EQ(timer.pendingTimeouts(), kBefore);
            EXPECT_EQ(timer.statistics().scheduled, kBefore);
            EXPECT_EQ(witness.use_count(), 1);
            clock.advance(100ms);  // until then all are refused
            schedule();
        }
        EXPECT_EQ(timer.pendingTimeouts(), kBefore + 1);
        clock.advance(100ms);
        EXPECT_EQ(runs, 1);
        if (!happened) break;
        ++failed;
    }
    figure("G16", "allocations of newTimeout, HashedWheelTimer, that failed and left no change",
           failed, atLeast(2));
}

// G16: without memory for its slots the worker leaves new timeouts in the queue, and tries again.
TEST_F(HashedWheelTimerTest, TriesAgainAtTheNextTickWhenItsSlotsCannotGrow) {
    HashedWheelTimer timer{options({.tick = 10ms, .ticksPerWheel = 8})};
    timer.start();
    std::optional<AllocationFailure> failure;  // of the worker's thread
    bool happened = false;
    timer.newTimeout([&] { failure.emplace(1U, AllocationFailure::Repeat::forEver); }, 5ms);
    timer.newTimeout(
        [&] {
            happened = failure->happened();
            failure.reset();
        },
        55ms);
    clock.advance(10ms);
    std::vector<std::pair<int, nanoseconds>> order;
    for (int i = 0; i < 100; ++i)
        timer.newTimeout([&order, this, i] { order.emplace_back(i, now()); }, i < 50 ? 0ms : 65ms);
    Timeout const cancelled = timer.newTimeout([] { FAIL(); }, 0ms);
    EXPECT_TRUE(cancelled.cancel());
    clock.advance(40ms);
    EXPECT_TRUE(order.empty());
    clock.advance(60ms);
    EXPECT_TRUE(happened);
    ASSERT_EQ(order.size(), 100U);
    for (int i = 0; i < 100; ++i) {
        auto const& [number, time] = order[static_cast<std::size_t>(i)];
        EXPECT_EQ(number, i);
        // The slot of 60 ms has room for some, that of 70 ms could grow again.
        EXPECT_GE(time, i < 50 ? 60ms : 80ms);
        EXPECT_LE(time, i < 50 ? 70ms : 80ms);
    }
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// G16
TEST_F(HashedWheelTimerTest, WhatMustNotFailAllocatesNothing) {
    HashedWheelTimer timer{options({.ticksPerWheel = 4})};
    std::vector<Timeout> timeouts;
    for (int i = 1; i <= 100; ++i) timeouts.push_back(timer.newTimeout([] {}, i * 1s));
    clock.advance(100ms);  // the worker is at rest
    auto const count = [](auto&& act) {
        AllocationCounter const counter{Threads::all};
        act();
        return counter.allocations();
    };
    EXPECT_EQ(count([&] { timeouts[10].cancel(); }), 0U);
    EXPECT_EQ(count([&] { timeouts[11].cancelAndWait(); }), 0U);
    EXPECT_EQ(count([&] { static_cast<void>(timeouts[12].remaining()); }), 0U);
    EXPECT_EQ(count([&] { static_cast<void>(timer.pendingTimeouts()); }), 0U);
    EXPECT_EQ(count([&] {
                  StoppedTimeouts const stopped = timer.stop();
                  EXPECT_EQ(stopped.size(), 98U);
              }),
              0U);
}

// ---- figures -----------------------------------------------------------------------------------

TEST_F(HashedWheelTimerTest, ItsStatisticsAddUp) {
    std::uint64_t const seed = seedOr(43);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    HashedWheelTimer timer{options({.tick = 1ms, .ticksPerWheel = 8, .maxPendingTimeouts = 80})};
    std::vector<Timeout> timeouts;
    std::uint64_t refused = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t runs = 0;
    for (int i = 0; i < 3000; ++i) {
        nanoseconds const delay{static_cast<std::int64_t>(random() % 300'000'000)};
        try {
            timeouts.push_back(timer.newTimeout([&] { ++runs; }, delay));
        } catch (RejectedExecution const&) {
            ++refused;
        }
        if (i % 3 == 0) cancelled += timeouts[random() % timeouts.size()].cancel() ? 1U : 0U;
        if (i % 11 == 0) clock.advance(10ms);
    }
    clock.advance(10ms);
    StoppedTimeouts const stopped = timer.stop();
    TimerStatistics const s = timer.statistics();
    EXPECT_EQ(s.name, "timingwheel");
    EXPECT_GT(refused, 0U);
    EXPECT_GT(stopped.size(), 0U);
    EXPECT_EQ(s.scheduled, timeouts.size());
    EXPECT_EQ(s.refused, refused);
    EXPECT_EQ(s.cancelled, cancelled);
    EXPECT_EQ(s.returned, stopped.size());
    EXPECT_EQ(s.fired, runs);
    EXPECT_EQ(s.runs, runs);
    EXPECT_EQ(s.pending, 0U);
    EXPECT_EQ(s.scheduled, s.fired + s.cancelled + s.returned + s.rejected);
    EXPECT_EQ(s.lateness.count(), runs);
    EXPECT_GE(s.minLateness, 0ns);
}

// Short runs are measured in groups: the last one ends with the tick.
TEST(HashedWheelTimerStatistics, ShowARunThatNothingFollows) {
    Watchdog const watchdog{"a run that is not measured"};
    HashedWheelTimer timer{{.tick = 1ms, .leakDetection = false}};
    timer.newTimeout([] {}, 1ms);
    while (timer.statistics().fired == 0) std::this_thread::sleep_for(1ms);
    while (timer.statistics().lateness.count() == 0) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(timer.statistics().lateness.count(), 1U);
}

TEST_F(HashedWheelTimerTest, TellsOfASlowRunOnce) {
    SettableClock slowClock;
    Latch done;
    std::vector<nanoseconds> heard;
    Timeout who;
    HashedWheelTimer timer{{.tick = 1ms,
                            .name = "slow",
                            .clock = slowClock,
                            .leakDetection = false,
                            .slowTaskThreshold = 10ms,
                            .slowTaskHandler = [&](SlowTask const& slow) {
                                heard.push_back(slow.duration);
                                who = slow.timeout;
                                EXPECT_EQ(slow.timerName, "slow");
                            }}};
    timer.start();
    timer.newTimeout([&] { slowClock.add(10ms - 1ns); }, 0ms);
    Timeout const slow = timer.newTimeout([&] { slowClock.add(15ms); }, 0ms);
    timer.newTimeout([&] { done.open(); }, 0ms);
    slowClock.add(1ms);
    done.wait();
    static_cast<void>(timer.stop());
    EXPECT_EQ(heard, (std::vector<nanoseconds>{15ms}));
    EXPECT_EQ(who, slow);
    EXPECT_EQ(timer.statistics().longestRun, 15ms);
}

/// Keeps the stages of one entry, and where it was placed.
class Stages final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        std::lock_guard const lock{mutex_};
        events_.push_back(event);
    }
    std::vector<TimerEvent> of(void const* entry) const {
        std::lock_guard const lock{mutex_};
        std::vector<TimerEvent> events;
        for (TimerEvent const& event : events_)
            if (event.entry == entry) events.push_back(event);
        return events;
    }

private:
    mutable std::mutex mutex_;
    std::vector<TimerEvent> events_;
};

TEST_F(HashedWheelTimerTest, TellsAnObserverOfEachStep) {
    using Stage = TimerEvent::Stage;
    Stages observer;
    HashedWheelTimer timer{options({.tick = 10ms, .ticksPerWheel = 8, .observer = &observer})};
    Timeout const t = timer.newTimeout([] {}, 217ms);
    void const* const entry = TimerObserver::entryOf(t);
    clock.advance(220ms);
    EXPECT_TRUE(t.isExpired());
    std::vector<TimerEvent> const events = observer.of(entry);
    std::vector<Stage> stages;
    for (TimerEvent const& event : events) stages.push_back(event.stage);
    ASSERT_FALSE(stages.empty());
    EXPECT_EQ(stages.front(), Stage::schedule);
    EXPECT_EQ(stages.back(), Stage::run);
    EXPECT_EQ(std::count(stages.begin(), stages.end(), Stage::expire), 1);
    auto const place = std::find_if(events.begin(), events.end(), [](TimerEvent const& event) {
        return event.stage == Stage::place;
    });
    ASSERT_NE(place, events.end());
    EXPECT_EQ(place->level, 0U);
    EXPECT_EQ(place->slot, place->deadline.value() % 8);
    EXPECT_GE(events.back().lateness, 0ms);
    EXPECT_LE(events.back().lateness, 10ms);
}

}  // namespace
}  // namespace timingwheel::test
