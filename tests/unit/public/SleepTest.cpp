// Coroutines that sleep on a timer: every sleep ends, in one way, and where it was said.

#include <support/AllocationCounter.h>
#include <support/Coroutine.h>
#include <support/Executors.h>
#include <support/Figure.h>
#include <support/TestTimers.h>
#include <timingwheel/Sleep.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

// Shows G29.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

static_assert(sizeof(Sleep) == 88);
#if defined(__GLIBCXX__)
static_assert(sizeof(StoppableSleep) == 160);
#endif
static_assert(!std::is_copy_constructible_v<Sleep>);
static_assert(std::is_nothrow_move_constructible_v<StoppableSleep>);

/// What becomes of a sleep.
struct Sleeper {
    std::optional<Wake> wake;
    std::thread::id thread;
    Clock::TimePoint at;
    /// Called when it goes on.
    std::function<void()> then = [] {};

    void woke(Wake how, WheelTimer& timer) {
        wake = how;
        thread = std::this_thread::get_id();
        at = timer.clock().now();
        std::exchange(then, {})();
    }
};

template <class Awaitable>
Coroutine sleepIn(WheelTimer& timer, Sleeper& sleeper, Awaitable sleep) {
    Wake const wake = co_await sleep;
    sleeper.woke(wake, timer);
}
template <class... Until>
Coroutine sleepFor(WheelTimer& timer, Sleeper& sleeper, Duration delay, Until... until) {
    return sleepIn(timer, sleeper, timer.sleep(delay, until...));
}

template <class T>
using CoroutineSleep = OfWheelTimers<T>;
TYPED_TEST_SUITE(CoroutineSleep, WheelTimers, NamesOfTimers);

TYPED_TEST(CoroutineSleep, EndsAtItsTimeAndNotBefore) {
    TypeParam timer{this->options()};
    Sleeper forTime;
    Sleeper untilTime;
    Coroutine const first = sleepFor(timer, forTime, 5ms);
    Coroutine const second = sleepIn(timer, untilTime, timer.sleep(this->now() + 7ms));
    EXPECT_EQ(timer.pendingTimeouts(), 2U);
    this->clock.advance(4ms);
    EXPECT_FALSE(forTime.wake);
    this->clock.advance(1ms);
    EXPECT_EQ(forTime.wake, Wake::expired);
    EXPECT_TRUE(first.isDone());
    EXPECT_FALSE(untilTime.wake);
    this->clock.advance(2ms);
    EXPECT_EQ(untilTime.wake, Wake::expired);
    EXPECT_EQ(timer.statistics().fired, 2U);
}

TYPED_TEST(CoroutineSleep, EndsOnTheTimerWhenItsTokenIsStopped) {
    TypeParam timer{this->options()};
    std::stop_source source;
    Sleeper sleeper;
    Coroutine const coroutine = sleepFor(timer, sleeper, 1h, source.get_token());
    this->clock.advance(1s);
    EXPECT_FALSE(sleeper.wake);
    source.request_stop();
    constexpr bool kHasThread = std::is_same_v<TypeParam, SystemTimer>;
    if (!kHasThread) {
        EXPECT_FALSE(sleeper.wake) << "it goes on in advanceTo or runDue";
    }
    this->clock.advance(Duration{});  // waits for the driver, or is it
    EXPECT_EQ(sleeper.wake, Wake::stopped);
    EXPECT_EQ(sleeper.at, Clock::TimePoint{} + 1s);
    EXPECT_EQ(sleeper.thread == std::this_thread::get_id(), !kHasThread);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

TYPED_TEST(CoroutineSleep, EndsInTheWayThatCameFirst) {
    TypeParam timer{this->options()};
    std::stop_source source;
    Sleeper sleeper;
    Coroutine const coroutine = sleepFor(timer, sleeper, 5ms, source.get_token());
    this->clock.advance(5ms);
    source.request_stop();
    this->clock.advance(1s);
    EXPECT_EQ(sleeper.wake, Wake::expired);

    std::stop_source another;
    Sleeper stopped;
    Coroutine const other = sleepFor(timer, stopped, 5ms, another.get_token());
    another.request_stop();
    this->clock.advance(5ms);
    EXPECT_EQ(stopped.wake, Wake::stopped);
}

TYPED_TEST(CoroutineSleep, EndsAtOnceWithATokenThatIsStoppedAlready) {
    TypeParam timer{this->options()};
    std::stop_source source;
    source.request_stop();
    Sleeper sleeper;
    Coroutine const coroutine = sleepFor(timer, sleeper, 0ms, source.get_token());
    EXPECT_EQ(sleeper.wake, Wake::stopped);
    EXPECT_EQ(sleeper.thread, std::this_thread::get_id());
    EXPECT_EQ(timer.statistics().scheduled, 0U);
    timer.stop();
    Sleeper again;
    Coroutine const other = sleepFor(timer, again, 1ms, source.get_token());
    EXPECT_EQ(again.wake, Wake::stopped);
}

TYPED_TEST(CoroutineSleep, TakesAnyDelay) {
    TypeParam timer{this->options()};
    Clock::TimePoint const start = this->now();
    std::stop_source source;
    std::deque<Sleeper> sleepers(5);
    std::vector<Coroutine> coroutines;
    {
        std::size_t next = 0;
        for (Duration const delay :
             {Duration{0ms}, Duration{-1h}, Duration{-Duration::max().nanoseconds()}})
            coroutines.push_back(sleepFor(timer, sleepers[next++], delay));
        coroutines.push_back(sleepIn(timer, sleepers[3], timer.sleep(start - 1h)));
        coroutines.push_back(sleepFor(timer, sleepers[4], Duration::max(), source.get_token()));
    }
    this->clock.advance(Duration{});
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(sleepers[i].wake, Wake::expired) << i;
        EXPECT_EQ(sleepers[i].at, start) << i;
    }
    this->clock.advance(std::chrono::hours{1'000'000});
    EXPECT_FALSE(sleepers[4].wake);
    source.request_stop();
    this->clock.advance(1ms);
    EXPECT_EQ(sleepers[4].wake, Wake::stopped);
    EXPECT_THROW(static_cast<void>(timer.sleep(std::chrono::duration<double>{std::nan("")})),
                 std::invalid_argument);
}

/// What a co_await throws; nothing if it does not.
Coroutine throwsWhat(WheelTimer& timer, std::exception_ptr& thrown) {
    try {
        co_await timer.sleep(1ms);
    } catch (...) {
        thrown = std::current_exception();
    }
}

TYPED_TEST(CoroutineSleep, ThrowsWhereAScheduleThrows) {
    TypeParam timer{this->options({.maxPendingTimeouts = 1})};
    Timeout const other = timer.newTimeout([] {}, 1h);
    std::exception_ptr thrown;
    {
        Coroutine const full = throwsWhat(timer, thrown);
        EXPECT_TRUE(full.isDone());
    }
    EXPECT_THROW(std::rethrow_exception(std::exchange(thrown, {})), RejectedExecution);
    EXPECT_TRUE(other.cancel());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    timer.stop();
    Coroutine const stopped = throwsWhat(timer, thrown);
    EXPECT_THROW(std::rethrow_exception(std::exchange(thrown, {})), std::logic_error);
}

/// Many that sleep for long, and when they wake look whether the timer is empty.
struct Dormitory {
    Dormitory(WheelTimer& timer, std::size_t count) : sleepers(count) {
        for (std::size_t i = 0; i < count; ++i) {
            sleepers[i].then = [&timer, this] { stillPending += timer.pendingTimeouts(); };
            auto const delay = 1ms * static_cast<int>(1 + i * i);
            coroutines.push_back(i % 2 == 0
                                     ? sleepFor(timer, sleepers[i], delay)
                                     : sleepFor(timer, sleepers[i], delay, source.get_token()));
        }
    }
    void expectAll(Wake wake) const {
        for (Sleeper const& each : sleepers) {
            ASSERT_EQ(each.wake, wake);
            ASSERT_EQ(each.thread, std::this_thread::get_id());
        }
        EXPECT_EQ(stillPending, 0U) << "they wake when the timer is empty";
    }

    std::stop_source source;
    std::deque<Sleeper> sleepers;
    std::vector<Coroutine> coroutines;
    std::size_t stillPending = 0;
};

constexpr std::size_t kManySleepers = 600;  // several chunks

TYPED_TEST(CoroutineSleep, EndsOnTheThreadThatStopsTheTimer) {
    TypeParam timer{this->options()};
    Dormitory dormitory{timer, kManySleepers};
    bool isRefused = false;
    dormitory.sleepers[7].then = [&] {
        EXPECT_THROW(timer.newTimeout([] {}, 1ms), std::logic_error);
        EXPECT_THROW(timer.stop(), std::logic_error) << "it would wait for itself";
        isRefused = true;
    };
    StoppedTimeouts const stopped = timer.stop();
    dormitory.expectAll(Wake::cancelled);
    EXPECT_TRUE(isRefused);
    EXPECT_EQ(stopped.hooks(), kManySleepers);
    timer.checkInvariants();
}

TYPED_TEST(CoroutineSleep, EndsInTheDestructorOfItsTimer) {
    std::optional<TypeParam> timer{this->options()};
    Dormitory dormitory{*timer, kManySleepers};
    timer.reset();
    dormitory.expectAll(Wake::cancelled);
    dormitory.source.request_stop();
    dormitory.expectAll(Wake::cancelled);
}

TYPED_TEST(CoroutineSleep, EndsInCancelAllAndTheTimerGoesOn) {
    TypeParam timer{this->options()};
    Dormitory dormitory{timer, kManySleepers};
    Coroutine again;
    Sleeper sleeper;
    dormitory.sleepers[kManySleepers - 1].then = [&] { again = sleepFor(timer, sleeper, 1ms); };
    EXPECT_EQ(timer.cancelAll(), kManySleepers);
    for (Sleeper const& each : dormitory.sleepers) ASSERT_EQ(each.wake, Wake::cancelled);
    this->clock.advance(1ms);
    EXPECT_EQ(sleeper.wake, Wake::expired);
    TimerStatistics const s = timer.statistics();
    EXPECT_EQ(s.scheduled, s.fired + s.cancelled);
    timer.checkInvariants();
}

TYPED_TEST(CoroutineSleep, EndsWhenItsFrameIsDestroyed) {
    TypeParam timer{this->options()};
    std::stop_source source;
    Sleeper sleeper;
    Coroutine plain = sleepFor(timer, sleeper, 5ms);
    Coroutine stoppable = sleepFor(timer, sleeper, 5ms, source.get_token());
    EXPECT_EQ(timer.pendingTimeouts(), 2U);
    plain.destroy();
    stoppable.destroy();
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    source.request_stop();
    this->clock.advance(1s);
    EXPECT_FALSE(sleeper.wake);
    EXPECT_EQ(timer.statistics().cancelled, 2U);
}

// Bug pattern: the list of those that are told is walked while one of them dies.
TYPED_TEST(CoroutineSleep, MayBeDestroyedByOneThatWakesBeforeIt) {
    TypeParam timer{this->options()};
    for (bool const isStop : {false, true}) {
        std::deque<Sleeper> sleepers(9);
        std::deque<Coroutine> coroutines;
        int woken = 0;
        for (Sleeper& each : sleepers) {
            each.then = [&woken, &coroutines, &each, &sleepers] {
                ++woken;
                for (std::size_t i = 0; i < sleepers.size(); ++i)
                    if (&sleepers[i] != &each) coroutines[i].destroy();
            };
            coroutines.push_back(sleepFor(timer, each, 1h));
        }
        if (isStop)
            EXPECT_EQ(timer.stop().hooks(), sleepers.size());
        else
            EXPECT_EQ(timer.cancelAll(), sleepers.size());
        EXPECT_EQ(woken, 1);
        timer.checkInvariants();
    }
}

TYPED_TEST(CoroutineSleep, MayDestroyTheTimerWhenItEnds) {
    enum class By { expiry, cancelAll, stop };
    for (By const by : {By::expiry, By::cancelAll, By::stop}) {
        auto timer = std::make_unique<TypeParam>(this->options());
        WheelTimer& itsTimer = *timer;
        Sleeper sleeper;
        Sleeper other;
        sleeper.then = [&] { timer.reset(); };
        Coroutine const coroutine = sleepFor(itsTimer, sleeper, 1ms);
        Coroutine const second = sleepFor(itsTimer, other, 1h);
        if constexpr (!std::is_same_v<TypeParam, SystemTimer>)  // that has a thread
            if (by == By::expiry) this->clock.advance(1ms);
        if (by == By::cancelAll) timer->cancelAll();
        if (by == By::stop) static_cast<void>(timer->stop());
        if (timer != nullptr) continue;
        EXPECT_EQ(sleeper.wake, by == By::expiry ? Wake::expired : Wake::cancelled);
        EXPECT_EQ(other.wake, Wake::cancelled);
    }
}

TYPED_TEST(CoroutineSleep, MayBeMovedBeforeAndAwaitedAgainAfterwards) {
    TypeParam timer{this->options()};
    std::stop_source source;
    std::vector<Wake> wakes;
    auto const sleepThrice = [&](auto sleep) -> Coroutine {
        auto moved = std::move(sleep);
        for (int i = 0; i < 3; ++i) wakes.push_back(co_await moved);
    };
    Coroutine const plain = sleepThrice(timer.sleep(1ms));
    for (int i = 0; i < 3; ++i) this->clock.advance(1ms);
    EXPECT_EQ(wakes, (std::vector<Wake>(3, Wake::expired)));
    Coroutine const stoppable = sleepThrice(timer.sleep(1ms, source.get_token()));
    this->clock.advance(1ms);
    source.request_stop();
    this->clock.advance(1ms);
    EXPECT_EQ(std::vector<Wake>(wakes.begin() + 3, wakes.end()),
              (std::vector<Wake>{Wake::expired, Wake::stopped, Wake::stopped}));
}

// G29
TYPED_TEST(CoroutineSleep, AllocatesNothing) {
    TypeParam timer{this->options()};
    constexpr int kTimes = 1000;
    std::size_t allocations = 0;
    int ended = 0;
    auto const sleepOften = [&](std::stop_token token) -> Coroutine {
        co_await timer.sleep(1ms);  // the levels are there, and the thread
        for (int i = 0; i < kTimes; ++i) {
            Sleep sleep = timer.sleep(1ms);
            StoppableSleep stoppable = timer.sleep(1ms, token);
            {
                AllocationCounter const counter;
                static_cast<void>(sleep.await_suspend(std::noop_coroutine()));
                static_cast<void>(stoppable.await_suspend(std::noop_coroutine()));
                allocations += counter.allocations();
            }
            co_await timer.sleep(1ms, token);
            ++ended;
        }
    };
    std::stop_source source;
    Coroutine const coroutine = sleepOften(source.get_token());
    while (!coroutine.isDone()) this->clock.advance(1ms);
    EXPECT_EQ(ended, kTimes);
    figure("G29", "allocations of a sleep", allocations, exactly(0), {2 * kTimes, 2 * kTimes});
}

// Bug pattern: a stop while the timer is far behind needs a level, and a token's callback must not
// throw.
TEST(CoroutineSleepTest, EndsByItsTokenWithoutMemory) {
    SettableClock clock;
    ManualTimer timer{{.wheelSize = 4, .clock = clock}};
    std::stop_source source;
    Sleeper sleeper;
    Timeout const earlier = timer.newTimeout([] {}, 1ms);
    Coroutine const coroutine = sleepFor(timer, sleeper, 2ms, source.get_token());
    clock.add(1h);  // nobody has driven it
    {
        AllocationFailure const failure{1, AllocationFailure::Repeat::forEver};
        source.request_stop();
        EXPECT_TRUE(failure.happened());
    }
    timer.checkInvariants();
    timer.advanceTo(clock.now());
    EXPECT_EQ(sleeper.wake, Wake::stopped);
}

TYPED_TEST(CoroutineSleep, ReportsWhatItsCoroutineThrows) {
    TypeParam timer{this->options()};
    auto const throwAfter = [&](Duration delay) -> Coroutine {
        co_await timer.sleep(delay);
        throw std::runtime_error{"bad dream"};
    };
    Coroutine const expired = throwAfter(1ms);
    Coroutine const cancelled = throwAfter(1h);
    this->clock.advance(1ms);
    EXPECT_EQ(this->failures.count(TaskFailure::Kind::threw), 1U);
    timer.stop();
    EXPECT_EQ(this->failures.count(TaskFailure::Kind::threw), 2U);
    EXPECT_EQ(this->failures.entries().back().what, "bad dream");
}

// Bug pattern: of two calls that give up sleepers one tells the other's, which returns meanwhile.
TEST(CoroutineSleepTest, EndsBeforeTheCallThatGaveItUpReturns) {
    for (bool const stops : {false, true}) {
        SystemTimer timer{{.shards = 1}};
        Sleeper first;
        Sleeper second;
        std::atomic<int> begun = 0;
        std::atomic<bool> isOver = false;
        // Whichever wakes first goes on when the other has woken, on another thread.
        first.then = second.then = [&] {
            if (begun++ == 0) {
                while (begun < 2) std::this_thread::yield();
            } else {
                std::this_thread::sleep_for(20ms);
                isOver = true;
            }
        };
        Coroutine const one = sleepFor(timer, first, 1h);
        Coroutine const two = sleepFor(timer, second, 1h);
        std::thread other{[&] {
            while (begun < 1) std::this_thread::yield();
            EXPECT_EQ(timer.cancelAll(), 0U);
        }};
        if (stops)
            EXPECT_EQ(timer.stop().hooks(), 2U);
        else
            EXPECT_EQ(timer.cancelAll(), 2U);
        EXPECT_TRUE(isOver);
        other.join();
    }
}

TEST(CoroutineSleepTest, EndsOnTheExecutor) {
    ThreadExecutor executor;
    ManualClock clock;
    SystemTimer timer{{.clock = clock, .executor = executor}};
    std::stop_source source;
    Sleeper expired;
    Sleeper stopped;
    Sleeper task;
    Coroutine const first = sleepFor(timer, expired, 1ms);
    Coroutine const second = sleepFor(timer, stopped, 1h, source.get_token());
    timer.newTimeout([&] { task.woke(Wake::expired, timer); }, 1ms);
    clock.advance(1ms);
    source.request_stop();
    clock.advance(1ms);
    EXPECT_EQ(expired.wake, Wake::expired);
    EXPECT_EQ(stopped.wake, Wake::stopped);
    EXPECT_EQ(expired.thread, task.thread);
    EXPECT_EQ(stopped.thread, task.thread);
}

TEST(CoroutineSleepTest, EndsWhereTheExecutorDropsIt) {
    HoldingExecutor holder;
    SettableClock clock;
    FailureLog failures;
    SystemTimer timer{{.clock = clock, .executor = holder, .errorHandler = failures.handler()}};
    Sleeper sleeper;
    Coroutine const coroutine = sleepFor(timer, sleeper, 1ms);
    clock.add(1ms);
    holder.waitFor(1);
    EXPECT_FALSE(sleeper.wake);
    holder.dropAll();
    EXPECT_EQ(sleeper.wake, Wake::cancelled);
    EXPECT_EQ(sleeper.thread, std::this_thread::get_id());
    EXPECT_EQ(failures.count(TaskFailure::Kind::rejected), 1U);
    timer.checkInvariants();
}

TEST(CoroutineSleepTest, MayBeDestroyedByTheHandlerThatHearsOfItsRejection) {
    HoldingExecutor holder;
    SettableClock clock;
    Sleeper sleeper;
    Coroutine coroutine;
    SystemTimer timer{{.clock = clock, .executor = holder, .errorHandler = [&](TaskFailure const&) {
                           coroutine.destroy();
                       }}};
    coroutine = sleepFor(timer, sleeper, 1ms);
    clock.add(1ms);
    holder.waitFor(1);
    holder.dropAll();
    EXPECT_FALSE(sleeper.wake);
}

TEST(CoroutineSleepTest, EndsWhenItsFrameIsDestroyedWhileItWaitsForTheExecutor) {
    HoldingExecutor holder;
    SettableClock clock;
    SystemTimer timer{{.clock = clock, .executor = holder}};
    std::stop_source source;
    Sleeper sleeper;
    Coroutine coroutine = sleepFor(timer, sleeper, 1ms, source.get_token());
    clock.add(1ms);
    holder.waitFor(1);
    coroutine.destroy();
    holder.runAll();
    EXPECT_FALSE(sleeper.wake);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

}  // namespace
}  // namespace timingwheel::test
