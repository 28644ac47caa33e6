#include "HookRaces.h"

#include <support/Effort.h>
#include <support/ThreadPool.h>
#include <support/ThreadStatus.h>
#include <support/Threads.h>
#include <timingwheel/SystemTimer.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

// G5
TEST(RaceHook, DestructorWaitsForARunThatHasBegun) {
    Watchdog const watchdog{"a hook's destructor"};
    raceHookDestructor(0, rounds(20'000, 1'000'000));
    raceHookDestructor(2, rounds(20'000, 1'000'000));
}

/// Counts its runs.
struct Beat {
    void run() { ++runs; }
    std::atomic<std::uint64_t> runs{0};
    TimerHook<&Beat::run> hook{*this};
};

// G4
// A schedule moves what is pending and revives what has run, whoever does so and while it is due.
TEST(RaceHook, RunsOnceForEachTimeThatItWasAcceptedWhoeverSchedulesIt) {
    Watchdog const watchdog{"schedules of one hook"};
    constexpr std::size_t kThreads = 3;
    std::uint64_t const turns = rounds(20'000, 500'000);
    Beat beat;
    SystemTimer timer{{.tick = 100us, .maxPendingTimeouts = 8, .shards = 4}};
    std::atomic<std::uint64_t> cancelled{0};
    together(kThreads, [&](std::size_t thread) {
        Random random{thread + 90};
        TimerHookBase* const batch[]{&beat.hook, &beat.hook};
        for (std::uint64_t turn = 0; turn < turns; ++turn) {
            auto const delay = static_cast<int>(random.below(4)) * timer.tick();
            switch (random.below(8)) {
                case 0:
                    timer.schedule(batch, delay);
                    break;
                case 1:
                    cancelled += beat.hook.cancel();
                    break;
                case 2:
                    beat.hook.reschedule(delay);
                    break;
                default:
                    timer.schedule(beat.hook, delay);
            }
        }
    });
    timer.drain();
    EXPECT_FALSE(beat.hook.isPending());
    EXPECT_EQ(beat.runs + cancelled, timer.statistics().scheduled);
    EXPECT_GT(timer.statistics().rescheduled, 0U);
}

/// A task that schedules itself again, late.
class Heartbeat {
public:
    Heartbeat(SystemTimer& timer, std::promise<void>& begun) : timer_{timer}, begun_{begun} {}
    void start() { timer_.schedule(hook_, 0ms); }

private:
    void beat() {
        begun_.set_value();
        std::this_thread::sleep_for(20ms);
        timer_.schedule(hook_, 1h);
    }

    SystemTimer& timer_;
    std::promise<void>& begun_;
    TimerHook<&Heartbeat::beat> hook_{*this};
};

// The destructor cancelled, waited for the run, and left what that run had scheduled in the wheel.
TEST(RaceHook, DestructorUndoesWhatTheLastRunScheduled) {
    Watchdog const watchdog{"a hook's destructor against its task"};
    SystemTimer timer;
    std::promise<void> begun;
    auto heartbeat = std::make_unique<Heartbeat>(timer, begun);
    heartbeat->start();
    begun.get_future().wait();
    heartbeat.reset();
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    timer.checkInvariants();
}

/// A task that can run twice at once.
struct Doubled {
    void run() {
        std::size_t const number = runs++;
        begun[number].set_value();
        mayEnd[number].get_future().wait();
    }

    std::atomic<std::size_t> runs{0};
    std::array<std::promise<void>, 2> begun;
    std::array<std::promise<void>, 2> mayEnd;
    TimerHook<&Doubled::run> hook{*this};
};

// G5
// It waited for the newest run only.
TEST(RaceHook, CancelAndWaitWaitsForAllRunsThatHaveBegun) {
    Watchdog const watchdog{"two runs of one hook"};
    boost::asio::thread_pool pool{2};
    Doubled doubled;
    SystemTimer timer{{.executor = pool}};
    for (auto& begun : doubled.begun) {
        timer.schedule(doubled.hook, 0ms);
        begun.get_future().wait();
    }
    std::atomic<bool> hasReturned{false};
    std::thread waiter{[&] {
        doubled.hook.cancelAndWait();
        hasReturned = true;
    }};
    std::this_thread::sleep_for(10ms);
    doubled.mayEnd[1].set_value();
    std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(hasReturned);
    doubled.mayEnd[0].set_value();
    waiter.join();
}

// G5
// The run that is waited for may have scheduled it: what the task uses may not go yet.
TEST(RaceHook, CancelAndWaitWaitsForARunThatBeginsMeanwhile) {
    Watchdog const watchdog{"a second run of a hook while the first is waited for"};
    boost::asio::thread_pool pool{2};
    Doubled doubled;
    SystemTimer timer{{.executor = pool}};
    timer.schedule(doubled.hook, 0ms);
    doubled.begun[0].get_future().wait();
    std::atomic<bool> hasReturned{false};
    std::thread waiter{[&] {
        nameThisThread("hook-waiter");
        doubled.hook.cancelAndWait();
        hasReturned = true;
    }};
    waitUntilAsleep("hook-waiter");
    timer.schedule(doubled.hook, 0ms);
    doubled.begun[1].get_future().wait();
    doubled.mayEnd[0].set_value();
    std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(hasReturned);
    doubled.mayEnd[1].set_value();
    waiter.join();
}

/// A task that goes on when its hook is gone and another one lies there.
struct Replaced {
    void run() { std::exchange(task, {})(); }

    std::function<void()> task;
    TimerHook<&Replaced::run> hook{*this};
};

// G5
TEST(RaceHook, CancelAndWaitDoesNotWaitForTheRunOfAHookThatDiedThere) {
    Watchdog const watchdog{"a hook in the place of one that died in its task"};
    std::optional<Replaced> owner{std::in_place};
    std::promise<void> replaced;
    std::promise<void> mayEnd;
    SystemTimer timer;  // it waits for the task, which uses them
    owner->task = [&] {
        owner.emplace();
        replaced.set_value();
        mayEnd.get_future().wait();
    };
    timer.schedule(owner->hook, 0ms);
    replaced.get_future().wait();
    timer.schedule(owner->hook, 1h);
    EXPECT_TRUE(owner->hook.cancelAndWait());
    mayEnd.set_value();
}

// G5
TEST(RaceHook, CancelAndWaitFromInsideTheTaskReturns) {
    Watchdog const watchdog{"a hook that cancels itself"};
    struct Owner {
        void run() {
            timer->schedule(hook, 1h);
            result.set_value(hook.cancelAndWait());
        }
        SystemTimer* timer = nullptr;
        std::promise<bool> result;
        TimerHook<&Owner::run> hook{*this};
    };
    for (std::size_t const threads : {0U, 1U, 2U}) {
        Runners runners{threads};
        Owner owner;
        SystemTimer timer{runners.options()};
        owner.timer = &timer;
        timer.schedule(owner.hook, 0ms);
        EXPECT_TRUE(owner.result.get_future().get());
    }
}

// G5
// Each of the two waited for the other.
TEST(RaceHook, CancelAndWaitFromTwoRunsAtOnceReturns) {
    Watchdog const watchdog{"two runs of a hook that both cancel it"};
    struct Owner {
        void run() {
            ++begun;
            waitUntil([this] { return begun == 2; });
            hook.cancelAndWait();
            ++ended;
        }
        std::atomic<int> begun{0};
        std::atomic<int> ended{0};
        TimerHook<&Owner::run> hook{*this};
    };
    boost::asio::thread_pool pool{2};
    Owner owner;
    SystemTimer timer{{.executor = pool}};
    timer.schedule(owner.hook, 0ms);
    waitUntil([&owner] { return owner.begun == 1; });
    timer.schedule(owner.hook, 0ms);
    waitUntil([&owner] { return owner.ended == 2; });
}

// G8
TEST(RaceHook, TaskMayDestroyItsOwner) {
    Watchdog const watchdog{"a hook that destroys its owner"};
    struct Owner {
        explicit Owner(std::promise<void>& itsPromise) : gone{itsPromise} {}
        void run() {
            std::promise<void>& promise = gone;
            delete this;
            promise.set_value();
        }
        std::promise<void>& gone;
        TimerHook<&Owner::run> hook{*this};
    };
    for (std::size_t const threads : {0U, 1U, 2U}) {
        Runners runners{threads};
        SystemTimer timer{runners.options()};
        for (int i = 0; i < 20; ++i) {
            std::promise<void> gone;
            auto* const owner = new Owner{gone};
            timer.schedule(owner->hook, 0ms);
            gone.get_future().wait();
        }
    }
}

TEST(RaceHook, TwoFirstSchedulesGiveOneShard) {
    Watchdog const watchdog{"two first schedules of one hook"};
    raceFirstSchedules(rounds(10'000, 300'000));
}

TEST(RaceHook, IsAcceptedOnceAndMovedByTheOthersThatScheduleIt) {
    Watchdog const watchdog{"several schedules of one hook"};
    raceScheduleOfOneHook(4, rounds(10'000, 1'000'000));
}

TEST(RaceHook, PushBackRacesWithExpiryAndCancel) {
    Watchdog const watchdog{"push-back"};
    PushBackRace{0, 4}.run(rounds(4'000, 200'000));
    PushBackRace{2, 4}.run(rounds(4'000, 200'000));
}

TEST(RaceHook, GoesToAnotherTimerWhenItsOwnIsGone) {
    Watchdog const watchdog{"a hook that changes its timer"};
    struct Owner {
        void run() { ++runs; }
        std::atomic<std::uint64_t> runs{0};
        TimerHook<&Owner::run> hook{*this};
    };
    Owner owner;
    std::uint64_t rounds = 0;
    for (; rounds < scaled(300, 100); ++rounds) {
        SystemTimer timer;
        timer.schedule(owner.hook, 0ms);
        waitUntil([&] { return owner.runs > rounds; });
        // Half of the time it is pending when its timer goes.
        if (rounds % 2 == 0) timer.schedule(owner.hook, 1h);
        EXPECT_EQ(owner.hook.reschedule(2h), rounds % 2 == 0);
    }
    EXPECT_FALSE(owner.hook.isPending());
    EXPECT_FALSE(owner.hook.cancelAndWait());
    EXPECT_EQ(owner.runs, rounds);
}

}  // namespace
}  // namespace timingwheel::test
