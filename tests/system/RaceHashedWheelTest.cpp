#include <support/Effort.h>
#include <support/HashedWheelRaces.h>
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

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using RunsOn = HashedWheelRunsOn;

TEST(RaceHashedWheel, EachTimeoutHasOneOutcomeOnTheWorker) {
    Watchdog const watchdog{"the ledger, on the worker"};
    keepTheHashedWheelLedger(RunsOn::worker, scaled(100'000), scaled(25'000));
}

TEST(RaceHashedWheel, EachTimeoutHasOneOutcomeOnAPool) {
    Watchdog const watchdog{"the ledger, on a pool"};
    keepTheHashedWheelLedger(RunsOn::pool, scaled(100'000), scaled(25'000));
    keepTheHashedWheelLedger(RunsOn::ownPool, scaled(100'000), scaled(25'000));
}

TEST(RaceHashedWheel, EachTimeoutHasOneOutcomeOnAnExecutorThatRefusesSome) {
    Watchdog const watchdog{"the ledger, on an executor that refuses some"};
    keepTheHashedWheelLedger(RunsOn::flakyPool, scaled(50'000), scaled(12'500));
}

TEST(RaceHashedWheel, OneOfCancelCancelAndWaitAndTheExpiryWins) {
    Watchdog const watchdog{"cancel against cancelAndWait against expiry"};
    HashedWheelCancelRace{RunsOn::worker}.run(scaled(200'000));
    HashedWheelCancelRace{RunsOn::pool}.run(scaled(100'000));
    HashedWheelCancelRace{RunsOn::ownPool}.run(scaled(100'000));
}

TEST(RaceHashedWheel, StopLosesNothingWhileOthersSchedule) {
    Watchdog const watchdog{"stop() against newTimeout"};
    HashedWheelStopRace{RunsOn::worker, 4}.run(scaled(400));
    HashedWheelStopRace{RunsOn::pool, 4}.run(scaled(200));
    HashedWheelStopRace{RunsOn::ownPool, 4}.run(scaled(200));
}

// Bug pattern: start() and stop() race.
TEST(RaceHashedWheel, StopRacesWithTheFirstStart) {
    Watchdog const watchdog{"stop() against start()"};
    for (std::uint64_t round = 0; round < scaled(500); ++round) {
        HashedWheelTimer timer{{.leakDetection = false}};
        std::atomic<std::size_t> accepted{0};
        std::atomic<std::size_t> returned{0};
        together(3, [&](std::size_t thread) {
            try {
                if (thread == 0) {
                    returned += timer.stop().size();
                } else if (thread == 1) {
                    timer.start();
                } else {
                    timer.newTimeout([] {}, 1h);
                    ++accepted;
                }
            } catch (std::logic_error const&) {
                // It was stopped before.
            }
        });
        returned += timer.stop().size();
        EXPECT_EQ(accepted, returned);
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
        EXPECT_THROW(timer.start(), std::logic_error);
    }
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
    loadAHashedWheelUpToTheLimit(8, scaled(200'000), 100);
}

TEST(RaceHashedWheel, CancelledTimeoutsAreGoneWithinATick) {
    Watchdog const watchdog{"cancelling far timeouts"};
    cancelFarHashedWheelTimeouts(scaled(200'000), 4);
}

TEST(RaceHashedWheel, NoWakeUpIsLost) {
    Watchdog const watchdog{"wake-ups of the worker"};
    wakeAHashedWheel(scaled(500));
}

TEST(RaceHashedWheel, HandlesOutliveATimerThatIsBeingDestroyed) {
    Watchdog const watchdog{"handles against the destructor"};
    raceHashedWheelHandlesAgainstDestructor(scaled(500));
}

// Bug pattern: the timer stops when it is half gone already, while its tasks call it: a race on the
// virtual-function table, which the thread sanitizer finds.
TEST(RaceHashedWheel, TasksMayCallATimerThatIsBeingDestroyed) {
    Watchdog const watchdog{"virtual calls against the destructor"};
    for (RunsOn const runsOn : {RunsOn::worker, RunsOn::pool, RunsOn::ownPool}) {
        HashedWheelRunners runners{runsOn};
        for (std::uint64_t round = 0; round < 50; ++round) {
            auto timer = std::make_unique<HashedWheelTimer>(runners.options());
            Timer& face = *timer;
            std::atomic<bool> isEntered{false};
            timer->newTimeout(
                [&] {
                    isEntered = true;
                    for (int refused = 0; refused < 3;) {
                        static_cast<void>(face.pendingTimeouts());
                        try {
                            face.newTimeout([] {}, 1h).cancel();
                        } catch (std::logic_error const&) {
                            ++refused;  // the destructor has begun
                        }
                    }
                },
                0ms);
            waitUntil([&] { return isEntered.load(); });
            timer.reset();
        }
    }
}

TEST(RaceHashedWheel, ATaskMayDestroyItsTimer) {
    Watchdog const watchdog{"a task that destroys its timer"};
    for (RunsOn const runsOn : {RunsOn::worker, RunsOn::pool, RunsOn::ownPool}) {
        HashedWheelRunners runners{runsOn};
        for (int round = 0; round < 20; ++round) {
            auto const alive = std::make_shared<int>(0);
            auto* const timer = new HashedWheelTimer{runners.options()};
            timer->newTimeout([capture = alive] {}, 1h);
            timer->newTimeout([timer, capture = alive] { delete timer; }, 0ms);
            waitUntil([&] { return alive.use_count() == 1; });
        }
    }
}

}  // namespace
}  // namespace timingwheel::test
