// A timer of either kind and two or three threads: all that may happen, with so many departures
// from the plain course of things.

#include "Trial.h"

#include <support/Executors.h>
#include <support/Waiters.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/RejectedExecution.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/TimerTask.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace timingwheel::test::simulation {
namespace {

template <class T>
class TimerInterleavings : public testing::Test {};

struct Names {
    template <class T>
    static std::string GetName(int) {
        return Trial<T>::kIsFlat ? "HashedWheelTimer" : "SystemTimer";
    }
};
using Timers = testing::Types<SystemTimer, HashedWheelTimer>;
TYPED_TEST_SUITE(TimerInterleavings, Timers, Names);

/// Departures, for what needs more than one to go wrong.
std::size_t atLeastTwo() { return std::max<std::size_t>(departures(), 2); }

// ---- falling asleep ----------------------------------------------------------------------------

// G2
TYPED_TEST(TimerInterleavings, ADriverThatFindsNothingSeesWhatIsScheduled) {
    expectAll(
        "G2", "interleavings of a driver with nothing to do and a schedule that are late",
        [] {
            Trial<TypeParam> trial;
            trial.timer().start();
            std::thread other{[&] { trial.schedule(milliseconds{1}); }};
            other.join();
            std::this_thread::sleep_for(milliseconds{5});
            trial.end();
        },
        atLeastTwo());
}

// G2
TYPED_TEST(TimerInterleavings, ADriverThatIsAboutToSleepSeesWhatIsScheduled) {
    expectAll(
        "G2", "interleavings of a driver that falls asleep and a schedule that are late",
        [] {
            Trial<TypeParam> trial;
            trial.schedule(std::chrono::hours{1});
            std::thread other{[&] { trial.schedule(milliseconds{2}); }};
            other.join();
            std::this_thread::sleep_for(milliseconds{5});
            trial.end();
        },
        atLeastTwo());
}

// G2
TYPED_TEST(TimerInterleavings, ADriverThatHasJustFinishedSeesWhatIsScheduled) {
    expectAll(
        "G2", "interleavings of a driver that has finished and a schedule that are late",
        [] {
            Trial<TypeParam> trial;
            trial.schedule(milliseconds{1});
            std::thread other{[&] {
                std::this_thread::sleep_for(trial.kOneTick);
                trial.schedule(milliseconds{1});
            }};
            other.join();
            std::this_thread::sleep_for(milliseconds{5});
            trial.end();
        },
        atLeastTwo());
}

// ---- what one thread sees of another ------------------------------------------------------------

TYPED_TEST(TimerInterleavings, WhoSeesACancellationSeesWhatCameBeforeIt) {
    expectAll("G4", "interleavings of cancel() and isCancelled() with something before it unseen",
              [] {
                  Trial<TypeParam> trial;
                  Timeout const timeout = trial.schedule(std::chrono::hours{1});
                  auto const reason = std::make_unique<int>(0);  // races are seen on the heap
                  std::thread other{[&] {
                      while (!timeout.isCancelled()) std::this_thread::yield();
                      require(*reason == 1, "what came before the cancel() is not seen");
                  }};
                  *reason = 1;
                  trial.cancel(0, timeout);
                  other.join();
                  trial.end();
              });
}

// G18
TYPED_TEST(TimerInterleavings, TheLimitAdmitsOneOfTwoSchedules) {
    expectAll("G18",
              "interleavings of two schedules of which the limit admits one, and admitted both or "
              "neither",
              [] {
                  auto options = smallOptions<TypeParam>();
                  options.maxPendingTimeouts = 1;
                  TypeParam timer{options};
                  auto const schedule = [&timer] {
                      try {
                          timer.newTimeout([] {}, std::chrono::hours{1});
                          return 1;
                      } catch (RejectedExecution const&) {
                          return 0;
                      }
                  };
                  int others = 0;
                  std::thread other{[&] { others = schedule(); }};
                  int const mine = schedule();
                  other.join();
                  require(mine + others == 1, "the limit did not admit one");
                  require(timer.stop().size() == 1, "more or less than one is pending");
              });
}

TYPED_TEST(TimerInterleavings, StatisticsMayBeReadWhileATimerStops) {
    expectAll("G11", "interleavings of statistics() and stop() with a race", [] {
        Trial<TypeParam> trial;
        trial.schedule(std::chrono::hours{1});
        std::thread other{[&] { static_cast<void>(trial.timer().statistics()); }};
        trial.stop();
        other.join();
        trial.end();
    });
}

TYPED_TEST(TimerInterleavings, ATaskMayBeAskedForWhileItsRunEnds) {
    struct SharedTask final : TimerTask {
        void run(Timeout const&) override { std::this_thread::sleep_for(milliseconds{1}); }
    };
    expectAll("G11", "interleavings of task() and the end of a run with memory used again", [] {
        TypeParam timer{smallOptions<TypeParam>()};
        Timeout const timeout = timer.newTimeout(std::make_shared<SharedTask>(), milliseconds{1});
        std::thread other{[&] {
            std::this_thread::sleep_for(Trial<TypeParam>::kOneTick + milliseconds{1});
            static_cast<void>(timeout.task());
        }};
        other.join();
        static_cast<void>(timer.stop());
        require(timeout.task() == nullptr, "the task outlives its timer");
    });
}

TYPED_TEST(TimerInterleavings, ATaskMayBeAskedForWhileItIsCancelled) {
    struct SharedTask final : TimerTask {
        void run(Timeout const&) override {}
    };
    expectAll("G11", "interleavings of task() and cancel() with memory used again", [] {
        TypeParam timer{smallOptions<TypeParam>()};
        Timeout const timeout =
            timer.newTimeout(std::make_shared<SharedTask>(), std::chrono::hours{1});
        std::thread other{[&] { static_cast<void>(timeout.task()); }};
        require(timeout.cancel(), "nobody else cancels");
        other.join();
        require(timeout.task() == nullptr, "the task outlives its cancellation");
    });
}

/// Uses what dies after those who cancel have waited.
struct User {
    explicit User(int& memory) : used{&memory} {}
    User(User&& other) noexcept : used{std::exchange(other.used, nullptr)} {}
    ~User() {
        if (used != nullptr) ++*used;
    }
    int* used;
};

// G5
TYPED_TEST(TimerInterleavings, OfTwoThatCancelAndWaitNoneIsBackBeforeTheCapturesAreGone) {
    expectAll("G5", "interleavings of two cancelAndWait() with captures that outlive one of them",
              [] {
                  TypeParam timer{smallOptions<TypeParam>()};
                  auto const memory = std::make_unique<int>(0);  // races are seen on the heap
                  Timeout const timeout =
                      timer.newTimeout([user = User{*memory}] {}, std::chrono::hours{1});
                  auto const cancelAndLook = [&] {
                      static_cast<void>(timeout.cancelAndWait());
                      require(*memory == 1, "its captures are still there");
                  };
                  std::thread other{cancelAndLook};
                  cancelAndLook();
                  other.join();
              });
}

// G12
TYPED_TEST(TimerInterleavings, TwoThreadsMayScheduleWhatIsDueAtOnce) {
    expectAll("G12", "interleavings of two schedules that are due at once with one lost, or a race",
              [] {
                  Trial<TypeParam> trial;
                  trial.schedule(milliseconds{0});
                  std::thread other{[&] { trial.schedule(milliseconds{0}); }};
                  trial.schedule(milliseconds{0});
                  other.join();
                  std::this_thread::sleep_for(milliseconds{5});
                  trial.end();
              });
}

// ---- stop() -------------------------------------------------------------------------------------

// G10
TYPED_TEST(TimerInterleavings, StopReachesADriverThatIsAboutToSleep) {
    expectAll("G10", "interleavings of stop() and a driver that falls asleep that hang", [] {
        Trial<TypeParam> trial;
        trial.timer().start();
        trial.end();
    });
}

// G10
TYPED_TEST(TimerInterleavings, WhatIsAcceptedWhileATimerStopsHasOneOutcome) {
    expectAll("G10", "interleavings of stop() and schedule with a timeout lost", [] {
        Trial<TypeParam> trial;
        trial.schedule(milliseconds{1});
        std::thread other{[&] { trial.schedule(milliseconds{1}); }};
        trial.stop();
        other.join();
        trial.end();
    });
}

TYPED_TEST(TimerInterleavings, WhatIsCancelledWhileATimerStopsIsReleased) {
    expectAll(
        "G6", "interleavings of stop() and cancel() with captures kept",
        [] {
            Trial<TypeParam> trial;
            Timeout const timeout = trial.schedule(std::chrono::hours{1});
            std::thread other{[&] { trial.cancel(0, timeout); }};
            trial.stop();
            other.join();
            trial.end();
        },
        atLeastTwo());
}

// G10
TYPED_TEST(TimerInterleavings, OneOfTwoCallersOfStopGetsWhatWasPending) {
    expectAll("G10", "interleavings of two stop() that return a timeout twice or never", [] {
        Trial<TypeParam> trial;
        trial.schedule(std::chrono::hours{1});
        std::thread other{[&] { trial.stop(); }};
        trial.stop();
        trial.books.stopped();
        other.join();
        trial.end();
    });
}

// ---- cancel() -----------------------------------------------------------------------------------

// G4
TYPED_TEST(TimerInterleavings, ATimeoutIsEitherCancelledOrRun) {
    expectAll("G4", "interleavings of cancel() and expiry with two outcomes or none", [] {
        Trial<TypeParam> trial;
        Timeout const timeout = trial.schedule(milliseconds{1});
        std::thread other{[&] { trial.cancel(0, timeout); }};
        std::this_thread::sleep_for(trial.kOneTick);
        other.join();
        std::this_thread::sleep_for(milliseconds{5});
        trial.end();
    });
}

// G4
TYPED_TEST(TimerInterleavings, ATimeoutIsEitherCancelledOrRunAtItsTick) {
    expectAll("G4", "interleavings of cancel() and its tick with two outcomes or none", [] {
        Trial<TypeParam> trial;
        Timeout const timeout = trial.schedule(milliseconds{1});
        std::thread other{[&] {
            std::this_thread::sleep_for(trial.kOneTick);
            trial.cancel(0, timeout);
        }};
        other.join();
        std::this_thread::sleep_for(milliseconds{5});
        trial.end();
    });
}

// G4
TYPED_TEST(TimerInterleavings, OneOfTwoCancelsWins) {
    expectAll("G4", "interleavings of two cancel() that both win or both lose", [] {
        Trial<TypeParam> trial;
        Timeout const timeout = trial.schedule(std::chrono::hours{1});
        std::thread other{[&] { trial.cancel(0, timeout); }};
        trial.cancel(0, timeout);
        other.join();
        require(timeout.isCancelled(), "no cancel() won");
        trial.end();
    });
}

// G5
TYPED_TEST(TimerInterleavings, AfterCancelAndWaitNothingRuns) {
    expectAll("G5", "interleavings of cancelAndWait() and a run that goes on after it", [] {
        Trial<TypeParam> trial;
        Timeout const timeout = trial.schedule(milliseconds{1});
        std::thread other{[&] { trial.cancelAndWait(0, timeout); }};
        std::this_thread::sleep_for(trial.kOneTick);
        other.join();
        std::this_thread::sleep_for(milliseconds{5});
        trial.end();
    });
}

// G4
TYPED_TEST(TimerInterleavings, WhatWaitsForAnExecutorIsTakenBackOrRun) {
    expectAll("G4", "interleavings of cancelAndWait() and an executor with two outcomes or none",
              [] {
                  ThreadExecutor threads;
                  Trial<TypeParam> trial{Executor{threads}};
                  Timeout const timeout = trial.schedule(milliseconds{1});
                  std::this_thread::sleep_for(trial.kOneTick);
                  trial.cancelAndWait(0, timeout);
                  trial.end();
              });
}

// ---- what holds no lock -------------------------------------------------------------------------

// G6
TYPED_TEST(TimerInterleavings, UsersCodeMayWaitForAThreadThatNeedsTheTimer) {
    struct AsksWhenCancelled final : TimerTask {
        explicit AsksWhenCancelled(TypeParam& which) : timer{which} {}
        void run(Timeout const&) override {}
        void cancelled(Timeout const&) override { askElsewhere(timer); }
        TypeParam& timer;
    };
    expectAll(
        "G6", "calls of the user's code under a lock",
        [] {
            TypeParam timer{smallOptions<TypeParam>()};
            timer.newTimeout([&, end = AsksAtItsEnd{timer}] { askElsewhere(timer); },
                             milliseconds{1});
            std::this_thread::sleep_for(milliseconds{3});
            Timeout const first = timer.newTimeout([end = AsksAtItsEnd{timer}] {}, milliseconds{9});
            Timeout const second =
                timer.newTimeout(std::make_shared<AsksWhenCancelled>(timer), milliseconds{9});
            require(first.cancel() && second.cancel(), "they are not pending");
            std::this_thread::sleep_for(milliseconds{3});
            static_cast<void>(timer.stop());
        },
        0);
}

// G6
TYPED_TEST(TimerInterleavings, AnExecutorMayWaitForAThreadThatNeedsTheTimer) {
    struct Asking {
        void execute(Claim claim) {
            askElsewhere(*timer);
            claim();
        }
        TypeParam* timer = nullptr;
    };
    expectAll(
        "G6", "calls of an executor under a lock",
        [] {
            Asking asking;
            auto options = smallOptions<TypeParam>();
            options.executor = asking;
            TypeParam timer{options};
            asking.timer = &timer;
            bool hasRun = false;
            timer.newTimeout([&] { hasRun = true; }, milliseconds{1});
            std::this_thread::sleep_for(milliseconds{5});
            static_cast<void>(timer.stop());
            require(hasRun, "it did not run");
        },
        0);
}

// ---- what goes when -----------------------------------------------------------------------------

// G11
TYPED_TEST(TimerInterleavings, HandlesMayGoWheneverTheyLike) {
    expectAll("G11", "interleavings of handles that go with memory lost or used again", [] {
        Trial<TypeParam> trial;
        Timeout timeout = trial.schedule(milliseconds{1});
        std::thread other{[copy = timeout] { copy.cancel(); }};
        timeout = Timeout{};
        other.join();
        trial.destroy();
    });
}

// G11
TYPED_TEST(TimerInterleavings, HandlesMayBeUsedWhileTheTimerGoes) {
    expectAll("G11", "interleavings of a handle and the end of its timer with memory used again",
              [] {
                  Trial<TypeParam> trial;
                  Timeout timeout = trial.schedule(std::chrono::hours{1});
                  std::thread other{[copy = timeout] {
                      copy.cancel();
                      static_cast<void>(copy.remaining());
                      static_cast<void>(copy.timer());
                  }};
                  timeout = Timeout{};
                  trial.destroy();
                  other.join();
              });
}

/// The steady clock, as an object that can be touched after its end.
class UsersClock final : public Clock {
public:
    TimePoint now() const noexcept override { return steady_->now(); }
    std::unique_ptr<Waiter> makeWaiter() override {
        return waiterThat([this](Waiter& inner, TimePoint until) {
            if (now() < until) inner.waitUntil(until);
        });
    }

private:
    Clock* steady_ = &Clock::steady();
};

// G11
TYPED_TEST(TimerInterleavings, AClockMayGoAfterItsTimer) {
    expectAll(
        "G11", "interleavings of a handle and the end of a clock with memory used again",
        [] {
            auto clock = std::make_unique<UsersClock>();
            auto options = smallOptions<TypeParam>();
            options.clock = *clock;
            auto timer = std::make_unique<TypeParam>(options);
            Timeout timeout = timer->newTimeout([] {}, milliseconds{1});
            std::thread other{[copy = timeout] { copy.cancel(); }};
            std::this_thread::sleep_for(Trial<TypeParam>::kOneTick);
            timer.reset();
            clock.reset();
            other.join();
        },
        atLeastTwo());
}

// A schedule that has been accepted may ask for the driver only after stop() is over.
TYPED_TEST(TimerInterleavings, AManualClockMovesOnAfterAStopThatMetASchedule) {
    expectAll(
        "G15", "interleavings of stop() and a schedule after which a ManualClock hangs",
        [] {
            ManualClock clock;
            auto options = smallOptions<TypeParam>();
            options.clock = clock;
            TypeParam timer{options};
            timer.start();
            std::thread other{[&timer] { static_cast<void>(timer.stop()); }};
            try {
                timer.newTimeout([] {}, milliseconds{1});
            } catch (std::logic_error const&) {
                // It was stopped before.
            }
            other.join();
            clock.advance(milliseconds{5});
        },
        isAtLength() ? 3 : departures());  // the schedule stands still until stop() is over
}

/// Counts what is delivered.
class Witness final : public TimerObserver {
public:
    void onEvent(TimerEvent const&) noexcept override { events_.fetch_add(1); }

private:
    std::atomic<int> events_{0};
};

// G8
TYPED_TEST(TimerInterleavings, ATaskMayDestroyItsTimerAndOthersWhatTheTimerUsed) {
    expectAll("G8", "interleavings of a task that destroys its timer with memory used again", [] {
        auto clock = std::make_unique<UsersClock>();
        auto observer = std::make_unique<Witness>();
        auto options = smallOptions<TypeParam>();
        options.clock = *clock;
        options.observer = observer.get();
        std::atomic<bool> isGone{false};
        auto timer = std::make_unique<TypeParam>(options);
        timer->newTimeout(
            [&] {
                timer.reset();
                isGone.store(true);
                isGone.notify_one();
            },
            Duration{});
        isGone.wait(false);
        observer.reset();
        clock.reset();
    });
}

}  // namespace
}  // namespace timingwheel::test::simulation
