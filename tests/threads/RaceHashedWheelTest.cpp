#include "HashedWheelRaces.h"
#include "RaceExecutor.h"
#include "StopRaces.h"

#include <support/Effort.h>
#include <support/Threads.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/ManualClock.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

// Shows G3, G10.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

TEST(RaceHashedWheel, OneOfCancelCancelAndWaitAndTheExpiryWins) {
    Watchdog const watchdog{"cancel against cancelAndWait against expiry"};
    HashedWheelCancelRace{RunsOn::driver}.run(rounds(200'000, 2'000'000));
    HashedWheelCancelRace{RunsOn::pool}.run(rounds(100'000, 2'000'000));
    HashedWheelCancelRace{RunsOn::ownPool}.run(rounds(100'000, 2'000'000));
}

TEST(RaceHashedWheel, StopLosesNothingWhileOthersSchedule) {
    Watchdog const watchdog{"stop() against newTimeout"};
    HashedWheelStopRace{RunsOn::driver, effort(4, 16)}.run(rounds(200, 5'000));
    HashedWheelStopRace{RunsOn::pool, effort(4, 8)}.run(rounds(100, 5'000));
    HashedWheelStopRace{RunsOn::ownPool, effort(4, 8)}.run(rounds(100, 5'000));
}

// Bug pattern: start() and stop() race.
TEST(RaceHashedWheel, StopRacesWithTheFirstStart) {
    Watchdog const watchdog{"stop() against start()"};
    raceStopAgainstTheFirstStart<HashedWheelTimer>(HashedWheelTimerOptions{.leakDetection = false},
                                                   scaled(500));
}

// Several threads make the first timeout: one worker, and all of them run.
TEST(RaceHashedWheel, SeveralThreadsMayStartIt) {
    Watchdog const watchdog{"start() by several threads"};
    for (std::uint64_t round = 0; round < scaled(200); ++round) {
        std::atomic<int> made{0};
        std::atomic<int> ran{0};
        HashedWheelTimer timer{{.tick = 1ms,
                                .leakDetection = false,
                                .threadFactory = [&made](std::function<void()> body) {
                                    ++made;
                                    return std::thread{std::move(body)};
                                }}};
        together(4, [&](std::size_t thread) {
            if (thread == 0) timer.start();
            timer.newTimeout([&ran] { ++ran; }, 0ms);
        });
        waitUntil([&] { return ran == 4; });
        EXPECT_EQ(made, 1);
        EXPECT_TRUE(timer.stop().empty());
    }
}

// Every function from any thread: the others ask while one starts it, and the clock moves.
TEST(RaceHashedWheel, MayBeAskedWhileItStarts) {
    Watchdog const watchdog{"questions while it starts"};
    for (std::uint64_t round = 0; round < scaled(300, 50); ++round) {
        ManualClock clock;
        std::atomic<int> ran{0};
        HashedWheelTimer timer{
            {.tick = 1ms, .ticksPerWheel = 4, .clock = clock, .leakDetection = false}};
        together(3, [&](std::size_t thread) {
            if (thread == 0) {
                Timeout const t = timer.newTimeout([&ran] { ++ran; }, 0ms);
                EXPECT_GT(t.deadline(), Clock::TimePoint{});
            } else if (thread == 1) {
                EXPECT_EQ(timer.tick(), 1ms);
                EXPECT_EQ(timer.ticksPerWheel(), 4);
                EXPECT_EQ(timer.name(), "timingwheel");
                EXPECT_EQ(&timer.clock(), &clock);
                EXPECT_LE(timer.pendingTimeouts(), 1U);
                EXPECT_LE(timer.statistics().scheduled, 1U);
            } else {
                clock.advance(500us);
            }
        });
        clock.advance(2ms);
        EXPECT_EQ(ran, 1);
    }
}

TEST(RaceHashedWheel, NeverExceedsTheLimitOfPendingTimeouts) {
    Watchdog const watchdog{"the limit of pending timeouts"};
    loadAHashedWheelUpToTheLimit(effort(8, 32), rounds(200'000, 10'000'000), effort(100, 1'000));
}

TEST(RaceHashedWheel, CancelledTimeoutsAreGoneWithinATick) {
    Watchdog const watchdog{"cancelling far timeouts"};
    cancelFarHashedWheelTimeouts(rounds(200'000, 10'000'000), 4);
}

TEST(RaceHashedWheel, NoWakeUpIsLost) {
    Watchdog const watchdog{"wake-ups of the worker"};
    wakeAHashedWheel(rounds(500, 20'000));
}

TEST(RaceHashedWheel, HandlesOutliveATimerThatIsBeingDestroyed) {
    Watchdog const watchdog{"handles against the destructor"};
    raceHandlesAgainstDestructor<HashedWheelTimer>(
        "HashedWheelTimer",
        HashedWheelTimerOptions{.tick = 1ms, .ticksPerWheel = 4, .leakDetection = false}, 2ms,
        {rounds(500, 20'000), 20'000});
}

// Bug pattern: the timer stops when it is half gone already, while its tasks call it: a race on the
// virtual-function table, which the thread sanitizer finds.
TEST(RaceHashedWheel, TasksMayCallATimerThatIsBeingDestroyed) {
    Watchdog const watchdog{"virtual calls against the destructor"};
    for (RunsOn const runsOn : {RunsOn::driver, RunsOn::pool, RunsOn::ownPool}) {
        RaceExecutor executor{runsOn};
        callWhileItIsDestroyed<HashedWheelTimer>(executor.options<HashedWheelTimer>(),
                                                 rounds(50, 500, 10));
    }
}

TEST(RaceHashedWheel, ATaskMayDestroyItsTimer) {
    Watchdog const watchdog{"a task that destroys its timer"};
    for (RunsOn const runsOn : {RunsOn::driver, RunsOn::pool, RunsOn::ownPool}) {
        RaceExecutor executor{runsOn};
        for (int round = 0; round < 20; ++round) {
            auto const alive = std::make_shared<int>(0);
            auto* const timer = new HashedWheelTimer{executor.options<HashedWheelTimer>()};
            timer->newTimeout([capture = alive] {}, 1h);
            timer->newTimeout([timer, capture = alive] { delete timer; }, 0ms);
            waitUntil([&] { return alive.use_count() == 1; });
        }
    }
}

}  // namespace
}  // namespace timingwheel::test
