// A HashedWheelTimer and two or three threads: all that may happen, with so many departures
// from the plain course of things.

#include "Trial.h"
#include "driver/EntryStack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

using FlatTrial = Trial<HashedWheelTimer>;

/// Departures, for what needs more than one to go wrong.
std::size_t atLeastTwo() { return std::max<std::size_t>(departures(), 2); }

TEST(HashedWheelInterleavings, AWorkerThatFindsNothingSeesWhatIsScheduled) {
    expectAll("G2", "interleavings of a worker that falls asleep and a schedule that are late", [] {
        FlatTrial trial;
        trial.timer().start();
        std::thread other{[&] { trial.schedule(milliseconds{1}); }};
        other.join();
        std::this_thread::sleep_for(milliseconds{5});
        trial.end();
    });
}

TEST(HashedWheelInterleavings, AWorkerThatHasJustFinishedSeesWhatIsScheduled) {
    expectAll(
        "G2", "interleavings of a worker that becomes idle and a schedule that are late",
        [] {
            FlatTrial trial;
            trial.schedule(milliseconds{1});
            std::thread other{[&] {
                std::this_thread::sleep_for(milliseconds{2});
                trial.schedule(milliseconds{1});
            }};
            other.join();
            std::this_thread::sleep_for(milliseconds{5});
            trial.end();
        },
        atLeastTwo());
}

TEST(HashedWheelInterleavings, WhatIsAcceptedWhileATimerStopsHasOneOutcome) {
    expectAll("G10", "interleavings of a flat stop() and newTimeout with a timeout lost", [] {
        FlatTrial trial;
        trial.schedule(milliseconds{1});
        std::thread other{[&] { trial.schedule(milliseconds{1}); }};
        trial.stop();
        other.join();
        trial.end();
    });
}

TEST(HashedWheelInterleavings, WhatIsCancelledWhileATimerStopsIsLetGo) {
    expectAll(
        "G6", "interleavings of a flat stop() and cancel() with captures kept",
        [] {
            FlatTrial trial;
            Timeout const timeout = trial.schedule(std::chrono::hours{1});
            std::thread other{[&] { trial.cancel(0, timeout); }};
            trial.stop();
            other.join();
            trial.end();
        },
        atLeastTwo());
}

TEST(HashedWheelInterleavings, ATimeoutIsEitherCancelledOrRun) {
    expectAll("G4", "interleavings of a flat cancel() and expiry with two outcomes or none", [] {
        FlatTrial trial;
        Timeout const timeout = trial.schedule(milliseconds{1});
        std::thread other{[&] { trial.cancel(0, timeout); }};
        std::this_thread::sleep_for(milliseconds{2});
        other.join();
        std::this_thread::sleep_for(milliseconds{5});
        trial.end();
    });
}

TEST(HashedWheelInterleavings, ATimeoutIsEitherCancelledOrRunAtItsTick) {
    expectAll("G4", "interleavings of a flat cancel() and its tick with two outcomes or none", [] {
        FlatTrial trial;
        Timeout const timeout = trial.schedule(milliseconds{1});
        std::thread other{[&] {
            std::this_thread::sleep_for(milliseconds{2});
            trial.cancel(0, timeout);
        }};
        other.join();
        std::this_thread::sleep_for(milliseconds{5});
        trial.end();
    });
}

TEST(HashedWheelInterleavings, AfterCancelAndWaitNothingRuns) {
    expectAll("G5", "interleavings of a flat cancelAndWait() and a run that goes on after it", [] {
        FlatTrial trial;
        Timeout const timeout = trial.schedule(milliseconds{1});
        std::thread other{[&] { trial.cancelAndWait(0, timeout); }};
        std::this_thread::sleep_for(milliseconds{2});
        other.join();
        std::this_thread::sleep_for(milliseconds{5});
        trial.end();
    });
}

TEST(HashedWheelInterleavings, HandlesMayBeUsedWhileTheTimerGoes) {
    expectAll("G11", "interleavings of a handle and the end of its flat timer with memory used",
              [] {
                  FlatTrial trial;
                  Timeout timeout = trial.schedule(std::chrono::hours{1});
                  std::thread other{[copy = timeout] {
                      copy.cancel();
                      static_cast<void>(copy.remaining());
                  }};
                  timeout = Timeout{};
                  trial.destroy();
                  other.join();
              });
}

TEST(HashedWheelInterleavings, AClockMayGoAfterItsTimer) {
    expectAll(
        "G11", "interleavings of a handle and the end of a clock with memory used again",
        [] {
            auto clock = std::make_unique<UsersClock>();
            auto timer = std::make_unique<HashedWheelTimer>(HashedWheelTimerOptions{
                .tick = milliseconds{1}, .clock = *clock, .leakDetection = false});
            Timeout timeout = timer->newTimeout([] {}, milliseconds{1});
            std::thread other{[copy = timeout] { copy.cancel(); }};
            std::this_thread::sleep_for(milliseconds{2});
            timer.reset();
            clock.reset();
            other.join();
        },
        atLeastTwo());
}

TEST(HashedWheelInterleavings, ATaskMayDestroyItsTimerAndOthersWhatTheTimerUsed) {
    expectAll("G8", "interleavings of a task that destroys its flat timer with memory used", [] {
        destroyFromATask<HashedWheelTimer>([](Clock& clock, TimerObserver& observer) {
            return HashedWheelTimerOptions{.tick = milliseconds{1},
                                           .clock = clock,
                                           .leakDetection = false,
                                           .observer = &observer};
        });
    });
}

using Stack = detail::EntryStack<detail::FirstLink>;

TEST(EntryStackInterleavings, EachEntryIsTakenOnceOrRefused) {
    expectAll(
        "G3", "interleavings of two that push and one that takes with an entry lost",
        [] {
            Stack stack;
            stack.open();
            TimerTaskEntry first;
            TimerTaskEntry second;
            bool isIn = false;
            std::thread other{[&] { isIn = stack.push(second); }};
            bool const isFirstIn = stack.push(first);
            std::size_t taken = 0;
            for (auto all = stack.takeAll(); !all.empty(); ++taken) all.takeFirst();
            auto rest = Stack::inOrder(stack.close());
            for (; !rest.empty(); ++taken) rest.takeFirst();
            other.join();
            if (!isIn) detail::FirstLink::setNext(second, nullptr);  // as whoever is refused does
            require(isFirstIn, "an open stack refused an entry");
            require(taken == 1 + std::size_t{isIn}, "an entry was taken twice, or never");
        },
        kAnyNumber);
}

}  // namespace
}  // namespace timingwheel::test::simulation
