#include "TimerDescriptors.h"

#include <support/AllocationCounter.h>
#include <support/Effort.h>
#include <support/Figure.h>
#include <support/TestTimers.h>
#include <timingwheel/LoopTimer.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

// Shows G31.

#if defined(__linux__)
#    include <sys/epoll.h>
#    include <unistd.h>
#endif

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kAtOnce{0};
constexpr std::chrono::milliseconds kInTheEnd{20'000};

bool isReadable(LoopTimer const& timer, std::chrono::milliseconds within = kAtOnce) {
    return isReadableWithin(timer.nativeHandle(), within);
}

TEST(LoopTimer, ItsDescriptorBecomesReadableWhenItsEarliestIsDue) {
    LoopTimer timer;
    EXPECT_FALSE(isReadable(timer));
    Clock::TimePoint const begin = timer.clock().now();
    bool hasRun = false;
    timer.newTimeout([&] { hasRun = true; }, 5ms);
    timer.newTimeout([] {}, 1h);
    ASSERT_TRUE(isReadable(timer, kInTheEnd));
    EXPECT_GE(timer.clock().now() - begin, 5ms);
    EXPECT_FALSE(timer.runDue());
    EXPECT_TRUE(hasRun);
    EXPECT_FALSE(isReadable(timer));
    EXPECT_EQ(timer.pendingTimeouts(), 1U);
}

TEST(LoopTimer, ItsDescriptorIsStillReadableWhenMoreIsDue) {
    LoopTimer timer;
    int ran = 0;
    for (int i = 0; i < 5; ++i) timer.newTimeout([&] { ++ran; }, 0ms);
    ASSERT_TRUE(isReadable(timer, kInTheEnd));
    EXPECT_TRUE(timer.runDue(2));
    EXPECT_EQ(ran, 2);
    EXPECT_TRUE(isReadable(timer));
    EXPECT_TRUE(timer.runDue(2));
    EXPECT_FALSE(timer.runDue(2));
    EXPECT_EQ(ran, 5);
    EXPECT_FALSE(isReadable(timer));
}

// A task that makes itself due at once cannot keep the loop from its sockets.
TEST(LoopTimer, IsStillReadableWhenItsBudgetIsSpent) {
    LoopTimer timer{{.passBudget = 1ns}};
    int runs = 0;
    for (int i = 0; i < 2; ++i)
        timer.newTimeout(
            [&] {
                ++runs;
                auto const start = Clock::steady().now();
                while (Clock::steady().now() == start) {
                }
            },
            0ms);
    EXPECT_TRUE(timer.runDue());
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(isReadable(timer));
    EXPECT_FALSE(timer.runDue());
    EXPECT_EQ(runs, 2);
}

TEST(LoopTimer, RunsWhatATaskMakesDueInTheNextCall) {
    LoopTimer timer;
    int ran = 0;
    std::function<void()> const again = [&] {
        if (++ran < 3) timer.newTimeout([&] { again(); }, 0ms);
    };
    timer.newTimeout([&] { again(); }, 0ms);
    for (int calls = 1; calls <= 3; ++calls) {
        ASSERT_TRUE(isReadable(timer, kInTheEnd));
        timer.runDue();
        EXPECT_EQ(ran, calls);
    }
    EXPECT_FALSE(isReadable(timer));
}

TEST(LoopTimer, WakesOnceForABucketWhoseTimeoutsWereAllCancelled) {
    LoopTimer timer;
    timer.newTimeout([] {}, 1ms).cancel();
    ASSERT_TRUE(isReadable(timer, kInTheEnd));
    EXPECT_FALSE(timer.runDue());
    EXPECT_FALSE(isReadable(timer));
    EXPECT_EQ(timer.nextExpiration(), std::nullopt);
    EXPECT_EQ(timer.pollTimeout(), -1);
}

TEST(LoopTimer, IsCalledByAnotherThreadThatSchedulesSomethingEarlier) {
    LoopTimer timer;
    timer.newTimeout([] {}, 1h);
    timer.runDue();
    EXPECT_FALSE(isReadable(timer));
    std::promise<std::thread::id> ranOn;
    std::thread{[&] {
        timer.newTimeout([&] { ranOn.set_value(std::this_thread::get_id()); }, 0ms);
    }}.join();
    ASSERT_TRUE(isReadable(timer, kInTheEnd));
    timer.runDue();
    EXPECT_EQ(ranOn.get_future().get(), std::this_thread::get_id());
}

TEST(LoopTimer, MayMoveToAnotherThread) {
    LoopTimer timer;
    int ran = 0;
    auto const turn = [&] {
        for (int i = 0; i < 3; ++i) {
            timer.newTimeout([&] { ++ran; }, 0ms);
            timer.runDue();
        }
    };
    turn();
    std::thread{turn}.join();
    turn();
    EXPECT_EQ(ran, 9);
    timer.checkInvariants();
}

TEST(LoopTimer, OnlyOneOfTwoCallsRunsWhatIsDue) {
    LoopTimer timer;
    std::promise<void> isInside;
    std::promise<void> mayEnd;
    timer.newTimeout(
        [&] {
            isInside.set_value();
            mayEnd.get_future().wait();
        },
        0ms);
    std::thread loop{[&] { timer.runDue(); }};
    isInside.get_future().wait();
    EXPECT_FALSE(timer.runDue());
    mayEnd.set_value();
    loop.join();
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

TEST(LoopTimer, RefusesToRunInsideItsOwnTask) {
    FailureLog failures;
    LoopTimer timer{{.name = "tea", .errorHandler = failures.handler()}};
    timer.newTimeout([&] { timer.runDue(); }, 0ms);
    timer.runDue();
    ASSERT_EQ(failures.count(), 1U);
    EXPECT_NE(
        failures.entries().front().what.find("timer \"tea\": runDue() was called from inside"),
        std::string::npos);
}

TEST(LoopTimer, MayBeDestroyedByItsOwnTask) {
    auto timer = std::make_unique<LoopTimer>();
    bool hasRun = false;
    bool hasNextRun = false;
    timer->newTimeout(
        [&] {
            hasRun = true;
            timer.reset();
        },
        0ms);
    timer->newTimeout([&] { hasNextRun = true; }, 0ms);
    EXPECT_FALSE(timer->runDue());
    EXPECT_TRUE(hasRun);
    EXPECT_FALSE(hasNextRun);
    EXPECT_EQ(timer, nullptr);
}

TEST(LoopTimer, AfterStopItRunsNothingAndIsNotReadable) {
    LoopTimer timer;
    timer.newTimeout([] { FAIL(); }, 0ms);
    ASSERT_TRUE(isReadable(timer, kInTheEnd));
    EXPECT_EQ(timer.stop().size(), 1U);
    EXPECT_FALSE(timer.runDue());
    EXPECT_FALSE(isReadable(timer));
    EXPECT_THROW(timer.newTimeout([] {}, 1ms), std::logic_error);
}

TEST(LoopTimer, HandlesAndHooksMayOutliveIt) {
    struct Session {
        void onIdle() {}
        TimerHook<&Session::onIdle> hook{*this};
    } session;
    Timeout timeout;
    {
        LoopTimer timer;
        timer.runDue();
        timeout = timer.newTimeout([] {}, 1h);
        timer.schedule(session.hook, 1h);
    }
    EXPECT_TRUE(timeout.isReturned());
    EXPECT_FALSE(timeout.cancel());
    EXPECT_FALSE(session.hook.reschedule(1ms));
}

// Under a clock that is set by hand the thread that sets it is the loop.
TEST(LoopTimer, IsDrivenByAClockThatIsSetByHand) {
    ManualClock clock;
    LoopTimer timer{{.clock = clock}};
    std::vector<int> order;
    timer.newTimeout([&] { order.push_back(2); }, 20ms);
    timer.newTimeout([&] { order.push_back(1); }, 10ms);
    clock.advance(15ms);
    EXPECT_EQ(order, (std::vector<int>{1}));
    std::thread{[&] { clock.advance(15ms); }}.join();
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

// The descriptor waits by the steady clock: another one may not have come as far by then.
TEST(LoopTimer, ItsDescriptorIsSetAnewWhereAnotherClockIsSlower) {
    SettableClock clock;
    LoopTimer timer{{.clock = clock}};
    bool hasRun = false;
    timer.newTimeout([&] { hasRun = true; }, 2ms);
    ASSERT_TRUE(isReadable(timer, kInTheEnd));
    EXPECT_FALSE(timer.runDue());
    EXPECT_FALSE(isReadable(timer));
    ASSERT_TRUE(isReadable(timer, kInTheEnd));
    clock.add(2ms);
    timer.runDue();
    EXPECT_TRUE(hasRun);
}

TEST(LoopTimer, RefusesOptionsThatItHasNoUseFor) {
    SynchronousExecutor executor;
    auto const refusal = [](TimerOptions options) -> std::string {
        try {
            LoopTimer const timer{std::move(options)};
        } catch (std::invalid_argument const& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_NE(refusal({.executor = executor}).find("executor is set"), std::string::npos);
    EXPECT_NE(refusal({.shards = 2}).find("shards is 2"), std::string::npos);
    EXPECT_NE(refusal({.spin = 1us}).find("spin is 1000 ns"), std::string::npos);
    EXPECT_NE(refusal({.threadFactory = [](std::function<void()>) { return std::thread{}; }})
                  .find("threadFactory is set"),
              std::string::npos);
}

// G17.
TEST(LoopTimer, AllocatesNothingForAHookThatIsScheduledPushedBackAndRun) {
    struct Session {
        void onIdle() { ++runs; }
        int runs = 0;
        TimerHook<&Session::onIdle> hook{*this};
    } session;
    LoopTimer timer;
    timer.schedule(session.hook, 100ms);  // builds the levels
    session.hook.cancel();
    timer.runDue();
    AllocationCounter const counter;
    for (int i = 0; i < 100; ++i) {
        timer.schedule(session.hook, 50ms);
        session.hook.reschedule(60ms);
        session.hook.cancel();
    }
    timer.schedule(session.hook, 0ms);
    timer.runDue();
    EXPECT_EQ(counter.allocations(), 0U);
    EXPECT_EQ(session.runs, 1);
}

#if defined(__linux__)

// G31.
TEST(LoopTimer, MakesOneSystemCallForEachChangeOfItsEarliestExpiration) {
    LoopTimer timer;
    auto const callsOf = [](auto&& work) {
        int const before = descriptorSettings();
        work();
        return descriptorSettings() - before;
    };
    EXPECT_EQ(callsOf([&] { timer.newTimeout([] {}, 500ms); }), 1);
    EXPECT_EQ(callsOf([&] {
                  for (int i = 0; i < 1'000; ++i) timer.newTimeout([] {}, 500ms + i * 1ms);
              }),
              0);
    EXPECT_EQ(callsOf([&] { timer.newTimeout([] {}, 0ms); }), 1);
    EXPECT_EQ(callsOf([&] { std::thread{[&] { timer.newTimeout([] {}, 0ms); }}.join(); }), 0);
    EXPECT_EQ(callsOf([&] { timer.runDue(); }), 1);
    EXPECT_EQ(callsOf([&] { timer.runDue(); }), 0);  // it was not called
    std::vector<Timeout> timeouts;
    EXPECT_EQ(callsOf([&] {
                  timeouts.push_back(timer.newTimeout([] {}, 100ms));
                  for (int i = 0; i < 100; ++i) timer.reschedule(timeouts.front(), 100ms + i * 1ms);
                  timeouts.front().cancel();
              }),
              1);
    // What tasks schedule during a call of runDue() is told at its end, in one.
    timer.newTimeout(
        [&] {
            for (int i = 20; i > 0; --i) timer.newTimeout([] {}, i * 1ms);
        },
        0ms);
    EXPECT_EQ(callsOf([&] { timer.runDue(); }), 1);
}

// G31. The clock is set by hand, in hours, so that the descriptor never fires meanwhile.
TEST(LoopTimer, MakesNoSystemCallWithoutSuchAChange) {
    std::uint64_t const steps = effort(4'000, 400'000);
    std::mt19937_64 random{seedOr(1)};
    auto const below = [&](std::uint64_t bound) { return random() % bound; };
    auto const someTime = [&] { return std::chrono::hours{1 + below(1'000)}; };
    SettableClock clock;
    LoopTimer timer{{.tick = 1h, .clock = clock}};
    std::vector<Timeout> timeouts(16);
    std::uint64_t needless = 0;
    std::uint64_t oversleeps = 0;
    Clock::TimePoint told{};  // until when the loop sleeps
    bool isTold = false;
    for (std::uint64_t step = 0; step < steps; ++step) {
        int const before = descriptorSettings();
        Timeout& timeout = timeouts[below(timeouts.size())];
        switch (below(4)) {
            case 0:
                timeout.cancel();
                timeout = timer.newTimeout([] {}, someTime());
                break;
            case 1:
                timer.reschedule(timeout, someTime());
                break;
            case 2:
                timeout.cancel();
                break;
            default:
                clock.add(std::chrono::hours{below(100)});
                while (timer.runDue()) {
                }
                isTold = false;
        }
        auto const next = timer.nextExpiration().value_or(Clock::TimePoint::max());
        bool const mustTell = isTold && next < told;
        int const calls = descriptorSettings() - before;
        if (calls > 1 || (isTold && !mustTell && calls > 0)) ++needless;
        if (mustTell && calls == 0) ++oversleeps;
        told = isTold ? std::min(told, next) : next;
        isTold = true;
    }
    figure("G31", "system calls without an earlier expiration", needless, exactly(0),
           {steps, 400'000});
    EXPECT_EQ(oversleeps, 0U);
}

TEST(LoopTimer, ItsDestructorTakesTheDescriptorOutOfEpoll) {
    int const epoll = epoll_create1(EPOLL_CLOEXEC);
    Timeout timeout;
    {
        LoopTimer timer;
        timeout = timer.newTimeout([] {}, 0ms);  // keeps the timer's inside in memory
        epoll_event event{.events = EPOLLIN, .data = {}};
        ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, timer.nativeHandle(), &event), 0);
        EXPECT_EQ(epoll_wait(epoll, &event, 1, 20'000), 1);
    }
    epoll_event event{};
    EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0);
    close(epoll);
}

TEST(LoopTimer, WorksWithAnEdgeTriggeredLoop) {
    int const epoll = epoll_create1(EPOLL_CLOEXEC);
    LoopTimer timer;
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
    ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, timer.nativeHandle(), &event), 0);
    int ran = 0;
    for (int turn = 0; turn < 20; ++turn) {
        timer.newTimeout([&] { ++ran; }, turn % 3 * 1ms);
        timer.newTimeout([&] { ++ran; }, turn % 3 * 1ms);
        while (ran < 2 * (turn + 1)) {
            ASSERT_EQ(epoll_wait(epoll, &event, 1, 20'000), 1);
            while (timer.runDue(1)) {
            }
        }
    }
    close(epoll);
}

TEST(LoopTimer, SaysThatTheSystemHasNoDescriptorLeft) {
    std::string what;
    {
        NoDescriptorLeft const scarcity;
        try {
            LoopTimer const timer;
        } catch (std::system_error const& e) {
            what = e.what();
        }
    }
    EXPECT_NE(what.find("timerfd_create"), std::string::npos) << what;
}

#endif

}  // namespace
}  // namespace timingwheel::test
