// A LoopTimer in a loop that sleeps until its descriptor is readable, and another thread that uses
// the timer. The lock is biased towards the loop, so both enter it without asking the other.

#include "Trial.h"
#include "core/driver/lock/Bias.h"

#include <timingwheel/LoopTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <sys/timerfd.h>
#include <thread>

// Shows G31.

namespace timingwheel::test::simulation {
namespace {

/// The one descriptor of a run: readable at a simulated time.
struct Descriptor {
    static Descriptor& only() {
        static Descriptor descriptor;
        return descriptor;
    }

    void set(Clock::TimePoint time) {
        std::lock_guard const lock{mutex};
        readableAt = time;
        isSet.notify_all();
    }
    void wait() {
        std::unique_lock lock{mutex};
        while (Clock::steady().now() < readableAt)
            if (readableAt == Clock::TimePoint::max())
                isSet.wait(lock);
            else
                isSet.wait_until(lock, readableAt);
    }

    std::mutex mutex;  // protects what follows
    std::condition_variable isSet;
    Clock::TimePoint readableAt = Clock::TimePoint::max();
};

}  // namespace
}  // namespace timingwheel::test::simulation

extern "C" int timerfd_create(int, int) noexcept { return 1'000'000; }
extern "C" int timerfd_settime(int, int, itimerspec const* at, itimerspec*) noexcept {
    using namespace timingwheel;
    std::chrono::nanoseconds const time =
        std::chrono::seconds{at->it_value.tv_sec} + std::chrono::nanoseconds{at->it_value.tv_nsec};
    test::simulation::Descriptor::only().set(time.count() == 0 ? Clock::TimePoint::max()
                                                               : Clock::TimePoint{time});
    return 0;
}

namespace timingwheel::test::simulation {
namespace {

/// Goes on until a task, or another thread by a task, says that it is over.
struct Loop {
    Loop() { timer.runDue(); }  // from here on the lock is biased towards this thread

    void run() {
        while (!isOver) {
            Descriptor::only().wait();
            timer.runDue();
        }
    }
    /// From any thread.
    void end() {
        timer.newTimeout([this] { isOver = true; }, Duration{});
    }

    bool isOver = false;
    LoopTimer timer{TimerOptions{.tick = milliseconds{1}, .wheelSize = 4}};
};

struct Object {
    void onDue() { ++runs; }
    int runs = 0;
    TimerHook<&Object::onDue> hook{*this};
};

// A loop that is not called sleeps for ever: the simulation takes that for a hang.
TEST(LoopTimerInterleavings, WhatAnotherThreadSchedulesRunsInTime) {
    expectAll("G31", "interleavings of a loop and a schedule that it oversleeps", [] {
        Loop loop;
        Clock::TimePoint deadline;
        Clock::TimePoint ranAt;
        Timeout const own = loop.timer.newTimeout([] {}, milliseconds{9});
        std::thread other{[&] {
            deadline = Clock::steady().now() + milliseconds{1};
            loop.timer.newTimeout(
                [&] {
                    ranAt = Clock::steady().now();
                    loop.isOver = true;
                },
                deadline);
        }};
        loop.run();
        other.join();
        require(ranAt >= deadline, "it is early");
        require(own.cancel() != own.isExpired(), "it has not exactly one outcome");
    });
}

TEST(LoopTimerInterleavings, ACancelOnAnotherThreadTellsTheTruth) {
    expectAll("G31", "interleavings of a loop and a cancel that has not one outcome", [] {
        Loop loop;
        Object object;
        int runs = 0;
        Timeout const timeout = loop.timer.newTimeout([&runs] { ++runs; }, Duration{});
        loop.timer.schedule(object.hook, Duration{});
        bool isCancelled = false;
        bool isHookCancelled = false;
        std::thread other{[&] {
            isCancelled = timeout.cancelAndWait();
            isHookCancelled = object.hook.cancel();
            loop.end();
        }};
        loop.run();
        other.join();
        require(runs + (isCancelled ? 1 : 0) == 1, "a timeout has not exactly one outcome");
        require(object.runs + (isHookCancelled ? 1 : 0) == 1, "a hook has not exactly one outcome");
        require(loop.timer.pendingTimeouts() == 0, "something is pending");
    });
}

TEST(LoopTimerInterleavings, AHookMayDieOnAnotherThreadWhileItRuns) {
    expectAll("G31", "interleavings of a run and the death of its hook elsewhere", [] {
        Loop loop;
        auto object = std::make_unique<Object>();
        loop.timer.schedule(object->hook, Duration{});
        std::thread other{[&] {
            object->hook.cancelAndWait();
            object.reset();
            loop.end();
        }};
        loop.run();
        other.join();
        require(loop.timer.pendingTimeouts() == 0, "something is pending");
    });
}

// Whoever moves a ManualClock makes the passes, also beside the loop's thread.
TEST(LoopTimerInterleavings, TwoThreadsMakeNoPassAtOnce) {
    expectAll("G31", "interleavings of two passes with both at once", [] {
        ManualClock clock;
        LoopTimer timer{TimerOptions{.tick = milliseconds{1}, .wheelSize = 4, .clock = clock}};
        timer.runDue();
        auto const runs = std::make_unique<int>(0);  // races are seen on the heap
        for (int i = 0; i < 2; ++i) timer.newTimeout([&runs] { ++*runs; }, milliseconds{1});
        std::thread other{[&] { timer.runDue(); }};
        clock.advance(milliseconds{1});
        other.join();
        require(*runs == 2, "the clock moved on");
    });
}

// Bug pattern: a thread counts the handles, then learns that the driver's reference was given up:
// by one that was made in between.
TEST(LoopTimerInterleavings, TheLastHandleMayGoWhileATaskCopiesItsOwn) {
    expectAll("G11", "interleavings of the last handle and one that a task keeps", [] {
        ManualClock clock;
        LoopTimer timer{TimerOptions{.tick = milliseconds{1}, .wheelSize = 4, .clock = clock}};
        Timeout kept;
        Timeout last = timer.scheduleAtFixedRate([&](Timeout const& self) { kept = self; },
                                                 milliseconds{1}, milliseconds{1});
        std::thread other{[&] {
            clock.advance(milliseconds{1});
            timer.runDue();
            require(kept.cancel(), "it is not pending");
            kept = {};
        }};
        last = {};
        other.join();
    });
}

TEST(LoopTimerInterleavings, StopOnAnotherThreadWaitsForThePass) {
    expectAll("G31", "interleavings of a pass and a stop elsewhere with a timeout lost", [] {
        auto loop = std::make_unique<Loop>();
        int runs = 0;
        std::size_t returned = 0;
        loop->timer.newTimeout([&runs] { ++runs; }, Duration{});
        loop->timer.newTimeout([&runs] { ++runs; }, milliseconds{1});
        std::thread other{[&] { returned = loop->timer.stop().size(); }};
        loop->timer.runDue();
        other.join();
        require(static_cast<std::size_t>(runs) + returned == 2, "one has not exactly one outcome");
        loop.reset();
    });
}

TEST(LoopTimerInterleavings, ATimerMayGoWhileAHookIsMoved) {
    expectAll("G31", "interleavings of a hook's move and the end of its timer in dead memory", [] {
        auto loop = std::make_unique<Loop>();
        auto const object = std::make_unique<Object>();
        loop->timer.schedule(object->hook, milliseconds{9});
        std::thread other{[&] { object->hook.reschedule(milliseconds{1}); }};
        loop.reset();
        other.join();
        require(!object->hook.isPending(), "what was pending has been returned");
    });
}

// The favourite needs no mutex, and another thread makes the pass.
TEST(LoopTimerInterleavings, AHooksTaskMayDestroyItsTimerWhileAScheduleReturns) {
    expectAll("G8", "interleavings of a schedule's end and its timer's with dead memory used", [] {
        std::atomic<bool> isGone = false;
        auto* const owner = new Owner<LoopTimer>{isGone};
        owner->timer.runDue();
        std::thread other{[&] {
            for (; !isGone; std::this_thread::sleep_for(milliseconds{1})) owner->timer.runDue();
        }};
        owner->timer.schedule(owner->hook, milliseconds{0});
        other.join();
    });
}

// Bug pattern: the favourite's word that it is inside is still on its way when another looks.
TEST(LoopTimerInterleavings, OneThreadAtATimeIsInAMutexThatLeans) {
    expectAll("G31", "interleavings of a favourite and another with both inside", [] {
        struct {
            detail::Bias bias;
            std::mutex mutex;
            std::unique_ptr<int> sum = std::make_unique<int>(0);  // on the heap, which is watched
            void add() {
                if (bias.enter()) {
                    ++*sum;
                    static_cast<void>(bias.leave());
                    return;
                }
                std::lock_guard const lock{mutex};
                bias.revokeUnlessFavourite();
                ++*sum;
            }
            void restore() {
                std::lock_guard const lock{mutex};
                bias.restore();
            }
        } leaning;
        leaning.restore();
        std::thread other{[&] {
            leaning.add();
            leaning.add();
        }};
        leaning.add();
        leaning.restore();
        leaning.add();
        leaning.restore();
        leaning.add();
        other.join();
        require(*leaning.sum == 5, "one was inside beside another");
    });
}

}  // namespace
}  // namespace timingwheel::test::simulation
