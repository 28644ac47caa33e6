#include "CancelRaces.h"
#include "StopRaces.h"

#include <support/Effort.h>
#include <support/Executors.h>
#include <support/TestTimers.h>
#include <support/ThreadStatus.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

// Shows G10.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

// Bug pattern: an entry is added after the final drain.
TEST(RaceStop, OneOfManyCallersGetsTheTasksWhileOthersSchedule) {
    Watchdog const watchdog{"stop() against schedule"};
    std::size_t const threads = effort(4, 16);
    StopRace{threads, threads, 0}.run(rounds(400, 100'000));
    StopRace{threads, threads, 2}.run(rounds(200, 100'000));
}

// G11
TEST(RaceStop, HandlesOutliveATimerThatIsBeingDestroyed) {
    Watchdog const watchdog{"handles against the destructor"};
    // At length all of them under sanitizers too: this is what those are for.
    std::uint64_t const times = isAtLength() ? scaledByEnvironment(100'000) : scaled(1'000);
    raceHandlesAgainstDestructor<SystemTimer>(
        "SystemTimer", TimerOptions{.tick = 10us, .shards = 2}, 80us, {times, 100'000});
}

TEST(RaceStop, IsPromptWhenTheTickIsADay) {
    Watchdog const watchdog{"stop() with a tick of a day"};
    SystemTimer timer{{.tick = 24h}};
    timer.newTimeout([] {}, 48h);
    std::this_thread::sleep_for(5ms);
    auto const begin = std::chrono::steady_clock::now();
    EXPECT_EQ(timer.stop().size(), 1U);
    auto const took = std::chrono::steady_clock::now() - begin;
    figure("G10", "stop() with a tick of 24 h while the driver sleeps, us", took / 1us, noBound());
}

// Bug pattern: the notification of stop() is sent between the loop's check and its wait.
TEST(RaceStop, IsNeverMissedByAThreadThatIsAboutToSleep) {
    Watchdog const watchdog{"stop() of a driver that goes to sleep"};
    Random random{19};
    for (std::uint64_t round = 0; round < scaled(2'000); ++round) {
        SystemTimer timer{{.tick = 24h}};
        timer.start();
        spinFor(random.below(std::chrono::microseconds{40}));
        // It looks again, and then it sleeps until somebody wakes it.
        bool const hasPending = round % 2 == 0;
        if (hasPending) timer.newTimeout([] {}, 48h);
        spinFor(random.below(std::chrono::microseconds{10}));
        EXPECT_EQ(timer.stop().size(), hasPending ? 1U : 0U);
    }
}

TEST(RaceStop, EveryCallerWaitsForATaskThatRuns) {
    Watchdog const watchdog{"stop() while a task runs"};
    for (std::size_t const threads : {0U, 2U}) {
        Runners runners{threads};
        SystemTimer timer{runners.options()};
        std::promise<void> begun;
        std::atomic<bool> isOver{false};
        timer.newTimeout(
            [&] {
                begun.set_value();
                std::this_thread::sleep_for(10ms);
                isOver = true;
            },
            0ms);
        begun.get_future().wait();
        together(3, [&](std::size_t) {
            EXPECT_TRUE(timer.stop().empty());
            EXPECT_TRUE(isOver);
        });
    }
}

// Bug pattern: start() and stop() race.
TEST(RaceStop, RacesWithTheFirstStart) {
    Watchdog const watchdog{"stop() against start()"};
    raceStopAgainstTheFirstStart<SystemTimer>(TimerOptions{}, scaled(500));
}

TEST(RaceStop, DrainRunsWhatWasAcceptedWhileOthersScheduleAndCancel) {
    Watchdog const watchdog{"drain() against schedule and cancel"};
    for (std::uint64_t round = 0; round < scaled(20, 10); ++round) {
        SystemTimer timer{{.tick = 100us}};
        std::atomic<std::uint64_t> accepted{0};
        std::atomic<std::uint64_t> ran{0};
        std::atomic<std::uint64_t> cancelled{0};
        together(4, [&](std::size_t thread) {
            if (thread == 0) {
                std::this_thread::sleep_for(500us);
                return timer.drain();
            }
            Random random{round * 4 + thread};
            try {
                for (int i = 0; i < 1'000; ++i) {
                    auto const timeout = timer.newTimeout(
                        [&ran] { ++ran; }, random.below(std::chrono::nanoseconds{2ms}));
                    ++accepted;
                    if (random.below(2) == 0 && timeout.cancel()) ++cancelled;
                }
            } catch (std::logic_error const&) {
                // It drains.
            }
        });
        EXPECT_EQ(accepted, ran + cancelled);
        EXPECT_TRUE(timer.stop().empty());
    }
}

TEST(RaceStop, EndsADrainThatWouldWaitForLong) {
    Watchdog const watchdog{"stop() against drain()"};
    SystemTimer timer;
    timer.newTimeout([] {}, 1h);
    std::thread drainer{[&timer] { timer.drain(); }};
    waitUntilRefused(timer);
    EXPECT_EQ(timer.stop().size(), 1U);
    drainer.join();
}

TEST(RaceStop, ATaskMayDestroyItsTimer) {
    Watchdog const watchdog{"a task that destroys its timer"};
    for (std::size_t const threads : {0U, 1U, 2U}) {
        Runners runners{threads};
        for (int round = 0; round < 20; ++round) {
            std::promise<void> gone;
            auto const alive = std::make_shared<int>(0);
            auto* const timer = new SystemTimer{runners.options()};
            timer->newTimeout([capture = alive] {}, 1h);
            timer->newTimeout(
                [timer, &gone, capture = alive] {
                    delete timer;
                    gone.set_value();
                },
                0ms);
            gone.get_future().wait();
            waitUntil([&] { return alive.use_count() == 1; });
        }
    }
}

// Nobody collected it: node, captures and all that the timer shares were never let go.
TEST(RaceStop, APeriodicTaskMayDestroyItsTimer) {
    Watchdog const watchdog{"a periodic task that destroys its timer"};
    for (std::size_t const threads : {0U, 2U}) {
        Runners runners{threads};
        std::promise<void> gone;
        auto const alive = std::make_shared<int>(0);
        auto* const timer = new SystemTimer{runners.options()};
        timer->scheduleAtFixedRate(
            [timer, &gone, capture = alive] {
                delete timer;
                gone.set_value();
            },
            1ms, 1ms);
        gone.get_future().wait();
        waitUntil([&] { return alive.use_count() == 1; });
    }
}

// A driver that was woken too soon finds no reason to end, and sleeps on.
TEST(RaceStop, EndsADriverThatSleepsWhileTimeoutsAreTakenOut) {
    Watchdog const watchdog{"stop() of a timer that goes back to sleep"};
    struct Patient final : TimerObserver {
        void onEvent(TimerEvent const& event) noexcept override {
            if (event.stage == TimerEvent::Stage::cancel) waitUntilAsleep("sleeps on");
        }
    } observer;
    SystemTimer timer{{.name = "sleeps on", .observer = &observer}};
    timer.newTimeout([] {}, 1h);
    waitUntilAsleep("sleeps on");
    EXPECT_EQ(timer.stop().size(), 1U);
}

// stop() returned while another thread was still reporting a rejected task.
TEST(RaceStop, WaitsForARejectionThatIsBeingReported) {
    Watchdog const watchdog{"stop() while a rejection is reported"};
    HoldingExecutor executor;
    std::promise<void> begun;
    std::atomic<bool> isReported{false};
    SystemTimer timer{{.executor = executor, .errorHandler = [&](TaskFailure const&) {
                           begun.set_value();
                           std::this_thread::sleep_for(20ms);
                           isReported = true;
                       }}};
    timer.newTimeout([] {}, 0ms);
    executor.waitFor(1);
    std::thread dropper{[&executor] { executor.takeAll().clear(); }};
    begun.get_future().wait();
    EXPECT_TRUE(timer.stop().empty());
    EXPECT_TRUE(isReported);
    dropper.join();
}

// Bug pattern: the timer stops when it is half gone already, while its tasks call it: a race on the
// virtual-function table, which the thread sanitizer finds.
TEST(RaceStop, TasksMayCallATimerThatIsBeingDestroyed) {
    Watchdog const watchdog{"virtual calls against the destructor"};
    for (std::size_t const threads : {0U, 2U}) {
        Runners runners{threads};
        callWhileItIsDestroyed<SystemTimer>(runners.options(), rounds(100, 1'000, 20));
    }
}

}  // namespace
}  // namespace timingwheel::test
