#include <support/CountOfEach.h>
#include <support/DriverThreads.h>
#include <support/Effort.h>
#include <support/TestTimers.h>
#include <support/ThreadStatus.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

/// A clock that is set by hand, at which a thread can be made to wait once it has read the time.
class StallingClock final : public Clock {
public:
    TimePoint now() const noexcept override {
        TimePoint const time{std::chrono::milliseconds{milliseconds.load()}};
        if (std::exchange(stalls, false)) {
            hasRead.open();
            mayGoOn.wait();
        }
        return time;
    }
    std::unique_ptr<Waiter> makeWaiter() override {
        return waiterThat([](Waiter& inner, TimePoint) { inner.waitUntil(steady().now() + 1ms); });
    }

    static inline thread_local bool stalls = false;
    std::atomic<std::int64_t> milliseconds{0};
    mutable Latch hasRead;
    mutable Latch mayGoOn;
};

// G12: over several shards. A thread reads the clock and stalls; the driver is late meanwhile.
TEST(SystemTimer, WhatIsAcceptedWhileATaskRunsComesBeforeLaterDeadlines) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        StallingClock clock;
        std::vector<int> order;
        Latch isAccepted;
        SystemTimer timer{{.clock = clock, .shards = 2}};
        // Of two threads in a row one has the other shard.
        if (attempt == 1) std::thread{[] { SystemTimer{}.newTimeout([] {}, 1h); }}.join();
        timer.newTimeout(
            [&] {
                order.push_back(6);
                clock.mayGoOn.open();
                isAccepted.wait();
            },
            6ms);
        timer.newTimeout([&] { order.push_back(10); }, 10ms);
        std::thread late{[&] {
            StallingClock::stalls = true;
            timer.newTimeout([&] { order.push_back(7); }, 7ms);
            isAccepted.open();
        }};
        clock.hasRead.wait();
        clock.milliseconds = 20;
        late.join();
        timer.drain();
        EXPECT_EQ(order, (std::vector<int>{6, 7, 10})) << attempt;
    }
}

// G23
TEST(SystemTimer, ItsThreadIsNamedAndBlocksSignals) {
    ManualClock clock;
    SystemTimer timer{{.name = "fifteen letters", .clock = clock}};
    Inside inside;
    timer.newTimeout([&] { inside = Inside::look(); }, 1ms);
    clock.advance(1ms);
    EXPECT_EQ(inside.name, "fifteen letters");
    EXPECT_EQ(inside.areSignalsBlocked, kHasSignals);
    EXPECT_FALSE(Inside::look().areSignalsBlocked);  // starting it changed nothing here
}

// G23
TEST(SystemTimer, TheUsersFactoryMayMakeItsThread) {
    ManualClock clock;
    int made = 0;
    std::thread::id id;
    Inside inside;
    std::thread::id ranOn;
    {
        SystemTimer timer{
            {.name = "made", .clock = clock, .threadFactory = [&](std::function<void()> body) {
                 ++made;
                 std::thread thread{std::move(body)};
                 id = thread.get_id();
                 return thread;
             }}};
        EXPECT_EQ(made, 0);  // the first schedule starts it
        timer.newTimeout(
            [&] {
                inside = Inside::look();
                ranOn = std::this_thread::get_id();
            },
            1ms);
        timer.start();
        clock.advance(1ms);
    }
    EXPECT_EQ(ranOn, id);
    EXPECT_EQ(inside.name, "made");
    figure("G23", "threads that the user's factory made", made, exactly(1));
    EXPECT_EQ(inside.areSignalsBlocked, kHasSignals);
}

// G17, G23
TEST(SystemTimer, AFactoryCannotHaveItsThreadTakeSignals) {
    ManualClock clock;
    auto const unblock = [](std::function<void()> const& body) {
        unblockSignals();
        body();
    };
    SystemTimer timer{{.clock = clock, .threadFactory = [unblock](std::function<void()> body) {
                           return std::thread{unblock, std::move(body)};
                       }}};
    Inside inside{.name = {}, .areSignalsBlocked = false};
    timer.newTimeout([&inside] { inside = Inside::look(); }, 1ms);
    clock.advance(1ms);
    EXPECT_EQ(inside.areSignalsBlocked, kHasSignals);
}

// G17
TEST(SystemTimer, AThreadThatCannotBeStartedIsReportedAndTriedAgain) {
    ManualClock clock;
    FailingFactory factory{4};
    auto const witness = std::make_shared<int>();
    SystemTimer timer{
        {.clock = clock, .maxPendingTimeouts = 1, .threadFactory = std::ref(factory)}};
    struct Object {
        void run() {}
        TimerHook<&Object::run> hook{*this};
    } object;
    expectThrows<std::system_error>([&] { timer.newTimeout([witness] {}, 1ms); },
                                    "no more threads");
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_THROW(timer.schedule(object.hook, 1ms), std::system_error);
    EXPECT_FALSE(object.hook.isPending());
    EXPECT_THROW(timer.scheduleAtFixedRate([] {}, 1ms, 1ms), std::system_error);
    EXPECT_THROW(timer.start(), std::system_error);
    EXPECT_EQ(timer.statistics().scheduled, 0U);
    timer.start();
    Timeout const t = timer.newTimeout([] {}, 1ms);
    clock.advance(1ms);
    EXPECT_TRUE(t.isExpired());
    EXPECT_EQ(factory.calls, 5);
    figure("G17", "failures to start a thread that changed nothing, the next try works",
           factory.calls - 1, exactly(4));
}

// G17
TEST(SystemTimer, WithoutAThreadItCanBeStoppedDrainedAndDestroyed) {
    ManualClock clock;
    for (int what = 0; what < 3; ++what) {
        FailingFactory factory{1000};
        SystemTimer timer{{.clock = clock, .threadFactory = std::ref(factory)}};
        EXPECT_THROW(timer.newTimeout([] {}, 1ms), std::system_error);
        if (what == 1) {
            EXPECT_TRUE(timer.stop().empty());
        }
        if (what == 2) timer.drain();
        clock.advance(1ms);
        if (what > 0) {
            EXPECT_THROW(timer.newTimeout([] {}, 1ms), std::logic_error);
        }
    }
}

// G17, G23
TEST(SystemTimer, AFactoryThatReturnsNoThreadIsAnError) {
    ManualClock clock;
    SystemTimer timer{
        {.clock = clock, .threadFactory = [](std::function<void()>) { return std::thread{}; }}};
    expectThrows<std::logic_error>([&] { timer.newTimeout([] {}, 1ms); }, "threadFactory");
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// G17, G23
// Bug pattern: the schedule fails because nobody can join the thread, which drives the timer
// all the same, and then beside the next one.
TEST(SystemTimer, AThreadThatItsFactoryDetachesDrivesNothing) {
    auto const isOver = std::make_shared<Latch>();
    ManualClock clock;
    int made = 0;
    std::thread::id good;
    std::atomic<int> runs{0};
    std::atomic<int> elsewhere{0};
    {
        SystemTimer timer{{.clock = clock, .threadFactory = [&](std::function<void()> body) {
                               std::thread thread{[isOver, made, body = std::move(body)]() mutable {
                                   body();
                                   body = {};
                                   if (made == 0) isOver->open();
                               }};
                               if (made++ == 0)
                                   thread.detach();
                               else
                                   good = thread.get_id();
                               return thread;
                           }}};
        expectThrows<std::logic_error>([&] { timer.newTimeout([] { FAIL(); }, 1ms); },
                                       "threadFactory");
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
        for (int i = 0; i < 1000; ++i) {
            timer.newTimeout(
                [&] {
                    ++runs;
                    if (std::this_thread::get_id() != good) ++elsewhere;
                },
                (1 + i % 10) * 1ms);
        }
        clock.advance(10ms);
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
    }
    isOver->wait();
    EXPECT_EQ(made, 2);
    EXPECT_EQ(runs, 1000);
    EXPECT_EQ(elsewhere, 0);
}

// G17, G23
// Bug pattern: the thread that was started nevertheless waits for ever, and holds the timer.
TEST(SystemTimer, AFactoryMayThrowAfterItHasStartedItsThread) {
    ManualClock clock;
    auto const witness = std::make_shared<int>();
    std::thread started;
    int made = 0;
    {
        SystemTimer timer{{.clock = clock, .threadFactory = [&](std::function<void()> body) {
                               std::thread thread{std::move(body)};
                               if (made++ > 0) return thread;
                               started = std::move(thread);
                               throw std::runtime_error{"not this one"};
                           }}};
        expectThrows<std::runtime_error>([&] { timer.newTimeout([witness] {}, 1ms); },
                                         "not this one");
        started.join();
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
        EXPECT_EQ(witness.use_count(), 1);
        Timeout const timeout = timer.newTimeout([] {}, 1ms);
        clock.advance(1ms);
        EXPECT_TRUE(timeout.isExpired());
    }
    EXPECT_EQ(made, 2);
    figure("G17", "threads left behind by a factory that threw after it had started one",
           started.joinable() ? 1 : 0, exactly(0));
}

// G17, G23. Bug pattern: it waits for itself for ever, with all signals blocked.
TEST(SystemTimer, AFactoryThatCallsTheFunctionItselfIsAnError) {
    ManualClock clock;
    bool isSwallowed = false;
    SystemTimer timer{
        {.name = "own thread", .clock = clock, .threadFactory = [&](std::function<void()> body) {
             try {
                 body();
             } catch (std::logic_error const&) {
                 if (!isSwallowed) throw;
             }
             return std::thread{};
         }}};
    expectThrows<std::logic_error>([&] { timer.newTimeout([] {}, 1ms); },
                                   "\"own thread\": threadFactory called the driver's function "
                                   "itself: it must start a thread that calls it");
    isSwallowed = true;
    expectThrows<std::logic_error>([&] { timer.start(); }, "not joinable");
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_FALSE(Inside::look().areSignalsBlocked);
}

// G17: however many threads call the function, the one that can be joined drives the timer.
TEST(SystemTimer, OfTwoThreadsOfAFactoryTheOneThatItReturnsDrives) {
    ManualClock clock;
    std::thread other;
    std::thread::id returned;
    int elsewhere = 0;
    SystemTimer timer{{.clock = clock, .threadFactory = [&](std::function<void()> body) {
                           other = std::thread{body};
                           std::thread thread{body};
                           returned = thread.get_id();
                           return thread;
                       }}};
    for (int i = 1; i <= 100; ++i) {
        timer.newTimeout([&] { elsewhere += std::this_thread::get_id() == returned ? 0 : 1; },
                         i * 1ms);
    }
    other.join();
    clock.advance(100ms);
    EXPECT_EQ(timer.statistics().fired, 100U);
    EXPECT_EQ(elsewhere, 0);
}

// G17, G23: a factory may keep what it was given and throw.
TEST(SystemTimer, AFactoryMayDropTheBodyItWasGiven) {
    ManualClock clock;
    std::function<void()> kept;
    {
        SystemTimer timer{{.clock = clock, .threadFactory = [&](std::function<void()> body) {
                               kept = std::move(body);
                               throw std::runtime_error{"not now"};
                               return std::thread{};
                           }}};
        EXPECT_THROW(timer.start(), std::runtime_error);
    }
    kept = {};
}

TEST(SystemTimer, DrainLetsWhatIsPendingRunAndAcceptsNothingMore) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock, .shards = 1}};
    CountOfEach runs{10};
    int refused = 0;
    std::vector<Timeout> timeouts;
    for (std::size_t i = 0; i < 10; ++i) {
        timeouts.push_back(timer.newTimeout(
            [&, i] {
                runs.count(i);
                try {
                    timer.newTimeout([] {}, 1ms);
                } catch (std::logic_error const&) {
                    ++refused;
                }
            },
            (i + 1) * 100ms));
    }
    Timeout const moved = timeouts[9];
    std::thread draining{[&] { timer.drain(); }};
    waitUntilRefused(timer);
    EXPECT_TRUE(timeouts[0].cancel());
    EXPECT_TRUE(timer.reschedule(moved, 2s));
    clock.advance(1s);
    EXPECT_TRUE(moved.isPending());
    clock.advance(1s);
    draining.join();
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(runs.of(i), i == 0 ? 0 : 1) << i;
    EXPECT_EQ(refused, 9);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_TRUE(timer.stop().empty());
}

/// Rather than that it is full.
bool saysThatItWasStopped(SystemTimer& timer) {
    try {
        timer.newTimeout([] {}, 1h);
    } catch (RejectedExecution const&) {
        return false;
    } catch (std::logic_error const&) {
        return true;
    }
    return false;
}

// Bug pattern: the limit is looked at first, and the caller is told to try again later, for ever.
TEST(SystemTimer, AtItsLimitItSaysThatItWasStopped) {
    Watchdog const watchdog{"a full timer that drains and does not say so"};
    ManualClock clock;
    SystemTimer timer{{.clock = clock, .maxPendingTimeouts = 1, .shards = 1}};
    Timeout const only = timer.newTimeout([] {}, 1h);
    EXPECT_THROW(timer.newTimeout([] {}, 1h), RejectedExecution);
    std::thread draining{[&] { timer.drain(); }};
    waitUntil([&] { return saysThatItWasStopped(timer); });
    EXPECT_TRUE(only.isPending());  // it still fills the timer
    EXPECT_EQ(timer.stop().size(), 1U);
    draining.join();
    EXPECT_TRUE(saysThatItWasStopped(timer));
    EXPECT_TRUE(only.isReturned());
}

// The same: a periodic timeout fills the timer while it runs, and stop() waits for the run.
TEST(SystemTimer, AtItsLimitItSaysToATaskThatItWasStopped) {
    Watchdog const watchdog{"a full timer that stops and does not say so"};
    ManualClock clock;
    SystemTimer timer{{.clock = clock, .maxPendingTimeouts = 1, .shards = 1}};
    Latch runs;
    Timeout const only = timer.scheduleAtFixedRate(
        [&] {
            runs.open();
            waitUntil([&] { return saysThatItWasStopped(timer); });
        },
        1s, 1s);
    std::thread stopping{[&] {
        runs.wait();
        EXPECT_EQ(timer.stop().size(), 1U);
    }};
    clock.advance(1s);
    stopping.join();
    EXPECT_TRUE(only.isReturned());
}

TEST(SystemTimer, DrainOfAnEmptyTimerReturnsAtOnce) {
    SystemTimer unused;
    unused.drain();
    unused.drain();
    EXPECT_THROW(unused.start(), std::logic_error);
    ManualClock clock;
    SystemTimer used{{.clock = clock}};
    used.newTimeout([] {}, 1h).cancel();
    used.drain();
    EXPECT_THROW(used.newTimeout([] {}, 1h), std::logic_error);
}

TEST(SystemTimer, DrainEndsWhenEverythingIsCancelled) {
    Watchdog const watchdog{"drain() of a timer whose timeouts are cancelled"};
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    std::vector<Timeout> timeouts;
    for (int i = 0; i < 10; ++i) timeouts.push_back(timer.newTimeout([] {}, 1h));
    std::thread draining{[&] {
        nameThisThread("draining");
        timer.drain();
    }};
    waitUntilAsleep("draining");
    for (Timeout const& t : timeouts) EXPECT_TRUE(t.cancel());
    draining.join();
}

TEST(SystemTimer, StopEndsADrain) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    Timeout const t = timer.newTimeout([] {}, 1h);
    std::thread draining{[&] { timer.drain(); }};
    std::size_t const stopped = timer.stop().size();
    draining.join();
    EXPECT_EQ(stopped, 1U);
    EXPECT_TRUE(t.isCancelled());
}

// Bug patterns: start() and stop() race; stop() from a task loops or joins itself: see tests/flow.
TEST(SystemTimer, StartMayBeCalledTwice) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    timer.start();
    timer.start();
    Timeout const t = timer.newTimeout([] {}, 1ms);
    clock.advance(1ms);
    EXPECT_TRUE(t.isExpired());
}

// Bug pattern: the task is run under the lock.
TEST(SystemTimer, OtherThreadsMayUseTheTimerWhileATaskRuns) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    int done = 0;
    timer.newTimeout(
        [&] {
            std::thread other{[&] {
                Timeout const t = timer.newTimeout([] {}, 1h);
                EXPECT_TRUE(timer.reschedule(t, 2h));
                EXPECT_TRUE(t.cancel());
                static_cast<void>(timer.pendingTimeouts());
                ++done;
            }};
            other.join();
        },
        1ms);
    clock.advance(1ms);
    EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace timingwheel::test
