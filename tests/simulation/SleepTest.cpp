// A coroutine that sleeps among other threads: whoever comes when, it goes on once and for one
// reason, and not after its frame is gone.

#include "Loop.h"
#include "Trial.h"

#include <support/Coroutine.h>
#include <timingwheel/Sleep.h>
#include <timingwheel/StopToken.h>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

// Shows G29.

namespace timingwheel::test::simulation {
namespace {

/// A timer, and a coroutine that sleeps on it.
struct World {
    explicit World(Executor executor = {}) {
        TimerOptions options = smallOptions<SystemTimer>();
        options.executor = executor;
        timer = std::make_unique<SystemTimer>(options);
    }

    Coroutine sleep(Duration delay) {
        Wake const wake = co_await timer->sleep(delay, source.get_token());
        wakes[static_cast<std::size_t>(wake)] += 1;
    }
    /// The sleep outlives its end, and with it the callback of its token: nothing waits for that.
    Coroutine sleepAndSee(Duration delay, int const& reason) {
        auto sleep = timer->sleep(delay, source.get_token());
        Wake const wake = co_await sleep;
        wakes[static_cast<std::size_t>(wake)] += 1;
        if (wake == Wake::stopped) require(reason == 1, "what came before the stop is not seen");
    }
    std::size_t count() const { return wakes[0] + wakes[1] + wakes[2]; }
    /// For one whose time is far away.
    void expectAwakeSoon() {
        for (int i = 0; i < 9 && count() == 0; ++i) std::this_thread::sleep_for(milliseconds{1});
        require(count() == 1, "nothing has woken it");
    }
    void end(std::size_t sleeps) {
        static_cast<void>(timer->stop());
        require(count() == sleeps, "a coroutine did not go on, or went on twice");
        timer.reset();
    }

    std::stop_source source;
    std::atomic<std::size_t> wakes[3]{};
    std::unique_ptr<SystemTimer> timer;
};

TEST(SleepInterleavings, AStopAndTheExpiryHaveOneWinner) {
    expectAll("G29", "interleavings of a stop and an expiry that wake a coroutine not once", [] {
        World world;
        Coroutine const coroutine = world.sleep(milliseconds{1});
        std::thread other{[&] { world.source.request_stop(); }};
        std::this_thread::sleep_for(milliseconds{2});
        other.join();
        world.end(1);
        require(world.wakes[static_cast<std::size_t>(Wake::cancelled)] == 0, "it was given up");
    });
}

TEST(SleepInterleavings, WhoIsStoppedSeesWhatCameBeforeTheStop) {
    expectAll("G29", "interleavings of a stop and an expiry with something before the stop unseen",
              [] {
                  World world;
                  auto const reason = std::make_unique<int>(0);  // races are seen on the heap
                  Coroutine const coroutine = world.sleepAndSee(milliseconds{1}, *reason);
                  std::thread other{[&] {
                      *reason = 1;
                      world.source.request_stop();
                  }};
                  std::this_thread::sleep_for(milliseconds{2});
                  other.join();
                  world.end(1);
              });
}

TEST(SleepInterleavings, AStopMayComeBeforeTheCoroutineIsSuspended) {
    expectAll("G29", "interleavings of a stop and a co_await that wake a coroutine not once", [] {
        World world;
        std::thread other{[&] { world.source.request_stop(); }};
        Coroutine const coroutine = world.sleep(milliseconds{50});
        other.join();
        world.expectAwakeSoon();
        world.end(1);
    });
}

TEST(SleepInterleavings, TheExpiryMayComeBeforeTheCoroutineIsSuspended) {
    expectAll("G29", "interleavings of a co_await and its expiry that wake a coroutine not once",
              [] {
                  World world;
                  Coroutine const coroutine = world.sleep(milliseconds{0});
                  Coroutine const second = world.sleep(milliseconds{1});
                  std::this_thread::sleep_for(milliseconds{3});
                  world.end(2);
              });
}

TEST(SleepInterleavings, TheTimerMayStopMeanwhile) {
    expectAll("G29", "interleavings of stop(), a stop and an expiry that wake a coroutine not once",
              [] {
                  World world;
                  Coroutine const coroutine = world.sleep(milliseconds{1});
                  std::thread other{[&] { world.source.request_stop(); }};
                  static_cast<void>(world.timer->stop());
                  require(world.count() == 1, "stop() has not waited for it");
                  other.join();
                  world.end(1);
              });
}

TEST(SleepInterleavings, CancelAllMayComeBeforeTheCoroutineIsSuspended) {
    expectAll("G29", "interleavings of cancelAll() and a co_await that wake a coroutine not once",
              [] {
                  World world;
                  std::thread other{[&] { world.timer->cancelAll(); }};
                  Coroutine const coroutine = world.sleep(milliseconds{20});
                  world.source.request_stop();
                  other.join();
                  world.expectAwakeSoon();
                  world.end(1);
              });
}

TEST(SleepInterleavings, ItsFrameMayGoOnTheThreadThatWouldResumeIt) {
    expectAll("G29", "interleavings of a frame's end and what would wake it that wake it", [] {
        Loop loop;
        World world{loop};
        Coroutine coroutine = world.sleep(milliseconds{1});
        std::thread other{[&] { world.source.request_stop(); }};
        std::this_thread::sleep_for(milliseconds{1});
        coroutine.destroy();
        loop.runAll();
        other.join();
        std::this_thread::sleep_for(milliseconds{1});
        loop.runAll();
        require(world.timer->pendingTimeouts() == 0, "it is still pending");
        world.end(0);
    });
}

TEST(SleepInterleavings, ADeadlineAndItsEnd) {
    expectAll("G29", "interleavings of stopAfter(), its parent's stop and its end that go wrong",
              [] {
                  World world;
                  std::atomic<std::size_t> calls{0};
                  std::thread other;
                  {
                      std::optional<StopAfter> deadline;
                      deadline.emplace(*world.timer, milliseconds{1}, world.source.get_token());
                      std::stop_callback const callback{deadline->token(), [&] { ++calls; }};
                      other = std::thread{[&] { world.source.request_stop(); }};
                      std::this_thread::sleep_for(milliseconds{1});
                      deadline.reset();
                  }
                  other.join();
                  require(calls <= 1, "a token is stopped twice");
                  world.end(0);
              });
}

TEST(SleepInterleavings, ATokenAndTheTaskThatItCancels) {
    expectAll("G29", "interleavings of a stop and the schedule that it cancels with two outcomes",
              [] {
                  World world;
                  std::atomic<std::size_t> runs{0};
                  std::thread other{[&] { world.source.request_stop(); }};
                  Timeout const timeout = world.timer->newTimeout(
                      untilStopped(world.source.get_token(), [&] { ++runs; }), milliseconds{0});
                  other.join();
                  std::this_thread::sleep_for(milliseconds{2});
                  require(runs + (timeout.isCancelled() ? 1U : 0U) == 1, "it has two outcomes");
                  world.end(0);
              });
}

}  // namespace
}  // namespace timingwheel::test::simulation
