// A loop that drives a ManualTimer and sleeps until it is told, and another thread that uses the
// timer under the lock of both.

#include "Trial.h"

#include <timingwheel/ManualTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerLoop.h>

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

/// Goes on until nothing is pending any more.
class Loop final : public TimerLoop {
public:
    void onEarlier(TimePoint) noexcept override { waiter_->wake(); }
    void onIdle() noexcept override {
        ++idle;
        waiter_->wake();
    }

    void run() {
        for (;;) {
            TimePoint until = TimePoint::max();
            {
                std::lock_guard const lock{mutex};
                timer.advanceTo(timer.clock().now());
                if (idle > 0) return;
                until = timer.nextExpiration().value_or(until);
            }
            waiter_->waitUntil(until);
        }
    }

private:
    std::unique_ptr<Clock::Waiter> const waiter_ = Clock::steady().makeWaiter();

public:
    std::mutex mutex;  // protects what follows
    int idle = 0;
    ManualTimer timer{TimerOptions{.tick = milliseconds{1}, .wheelSize = 4, .loop = this}};
};

struct Object {
    void onDue() { ranAt = Clock::steady().now(); }
    Clock::TimePoint ranAt{};
    TimerHook<&Object::onDue> hook{*this};
};

// A loop that is not told sleeps for ever: the simulation takes that for a hang.
TEST(TimerLoopInterleavings, AHookThatAnotherThreadSchedulesAndMovesRunsInTime) {
    expectAll("G26", "interleavings of a loop and another thread that it oversleeps", [] {
        Loop loop;
        Object object;
        Clock::TimePoint deadline;
        std::thread other{[&] {
            {
                std::lock_guard const lock{loop.mutex};
                loop.timer.schedule(object.hook, Duration::max());
            }
            std::lock_guard const lock{loop.mutex};
            deadline = loop.timer.clock().now() + milliseconds{3};
            require(object.hook.reschedule(deadline), "it is not pending");
        }};
        loop.run();
        other.join();
        require(object.ranAt >= deadline, "it is early");
        require(loop.idle == 1, "it is told once that nothing is pending");
    });
}

TEST(TimerLoopInterleavings, ALoopIsToldThatAnotherThreadHasCancelledTheLast) {
    expectAll("G26", "interleavings of a loop and a cancel of the last with the loop not told", [] {
        Loop loop;
        Timeout const timeout = loop.timer.newTimeout([] {}, Duration::max());
        std::thread other{[&] {
            std::lock_guard const lock{loop.mutex};
            timeout.cancel();
        }};
        loop.run();
        other.join();
        std::lock_guard const lock{loop.mutex};
        require(loop.idle == 1, "it is told once");
    });
}

}  // namespace
}  // namespace timingwheel::test::simulation
