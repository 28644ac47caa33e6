// cancelAll() among other threads: whoever comes when, each timeout has one outcome, and what was
// accepted before is not left.

#include "Trial.h"

#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>

// Shows G28.

namespace timingwheel::test::simulation {
namespace {

struct Session {
    void onIdle() { ++runs; }
    std::atomic<std::size_t> runs{0};
    TimerHook<&Session::onIdle> hook{*this};
};

/// A timer, and what has become of its timeouts.
struct World {
    World() : timer{std::make_unique<SystemTimer>(smallOptions<SystemTimer>())} {}

    Timeout schedule(Duration delay) {
        return timer->newTimeout([this] { ++runs; }, delay);
    }
    void cancelAll() { cancelled += timer->cancelAll(); }
    /// Of `accepted` timeouts each has one outcome.
    void end(std::size_t accepted) {
        std::size_t const returned = timer->stop().size();
        require(runs + cancelled + returned == accepted, "a timeout has no outcome, or two");
        timer.reset();
    }

    std::unique_ptr<SystemTimer> timer;
    std::atomic<std::size_t> runs{0};
    std::atomic<std::size_t> cancelled{0};
};

TEST(CancelAllInterleavings, EachTimeoutHasOneOutcome) {
    expectAll("G28", "interleavings of cancelAll() with cancel() and expiry with two outcomes", [] {
        World world;
        std::array const timeouts{world.schedule(milliseconds{1}), world.schedule(milliseconds{9}),
                                  world.schedule(milliseconds{1})};
        std::thread other{[&] {
            world.cancelled += timeouts[1].cancel();
            world.cancelled += timeouts[2].cancel();
        }};
        std::this_thread::sleep_for(milliseconds{1});
        world.cancelAll();
        other.join();
        for (Timeout const& timeout : timeouts)
            require(!timeout.isPending(), "cancelAll() left what was accepted before");
        world.end(3);
    });
}

TEST(CancelAllInterleavings, WhatIsMovedMeanwhileIsNotLeft) {
    expectAll("G28", "interleavings of cancelAll() and reschedule() that leave a timeout", [] {
        World world;
        std::array const timeouts{world.schedule(milliseconds{20}),
                                  world.schedule(milliseconds{20})};
        world.timer->reschedule(timeouts[0], milliseconds{21});  // from now on one takes no lock
        std::thread other{[&] {
            world.timer->reschedule(timeouts[0], milliseconds{30});
            world.timer->reschedule(timeouts[1], milliseconds{2});
        }};
        world.cancelAll();
        other.join();
        for (Timeout const& timeout : timeouts)
            require(!timeout.isPending(), "cancelAll() left what was accepted before");
        world.end(2);
    });
}

TEST(CancelAllInterleavings, TwoOfThemShareTheWork) {
    expectAll("G28", "interleavings of two cancelAll() that leave a timeout or count it twice", [] {
        World world;
        Timeout const first = world.schedule(milliseconds{5});
        Timeout second;
        std::thread other{[&] {
            second = world.schedule(milliseconds{50});
            world.cancelAll();
            require(!second.isPending(), "cancelAll() left what was accepted before");
        }};
        world.cancelAll();
        require(!first.isPending(), "cancelAll() left what was accepted before");
        other.join();
        world.end(2);
    });
}

TEST(CancelAllInterleavings, AHookMayGoMeanwhile) {
    expectAll("G5", "interleavings of cancelAll() and a hook's end with memory used again", [] {
        World world;
        auto session = std::make_unique<Session>();
        world.timer->schedule(session->hook, milliseconds{1});
        std::thread other{[&] { session.reset(); }};
        std::size_t const cancelled = world.timer->cancelAll();
        require(cancelled <= 1, "a hook is cancelled twice");
        other.join();
        world.end(0);
    });
}

TEST(CancelAllInterleavings, APeriodicTaskEnds) {
    expectAll("G28", "interleavings of cancelAll() and a periodic task that goes on", [] {
        World world;
        Timeout const periodic = world.timer->scheduleAtFixedRate([&] { ++world.runs; },
                                                                  milliseconds{1}, milliseconds{1});
        std::this_thread::sleep_for(milliseconds{1});
        std::size_t const cancelled = world.timer->cancelAll();
        require(cancelled == 1, "a periodic timeout is not cancelled once");
        require(periodic.isCancelled(), "it is not cancelled");
        periodic.cancelAndWait();
        std::size_t const runs = world.runs;
        std::this_thread::sleep_for(milliseconds{3});
        require(world.runs == runs, "it ran again");
        static_cast<void>(world.timer->stop());
    });
}

TEST(CancelAllInterleavings, WhatComesAfterItRuns) {
    expectAll("G28", "interleavings of cancelAll() that cancel what was accepted after it", [] {
        World world;
        std::atomic<bool> isOver{false};
        std::thread other{[&] {
            world.cancelAll();
            isOver = true;
        }};
        static_cast<void>(world.schedule(milliseconds{1}));
        world.cancelAll();
        bool const wasOver = isOver;
        Timeout const after = world.schedule(milliseconds{1});
        other.join();
        std::this_thread::sleep_for(milliseconds{3});
        require(!wasOver || !after.isCancelled(), "what came after it is cancelled");
        world.end(2);
    });
}

}  // namespace
}  // namespace timingwheel::test::simulation
