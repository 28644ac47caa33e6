// Timeouts in a file, and all threads that keep them: the callers, the writer, the drivers of both
// wheels, and those that call the handler. The file is one in memory.

#include "Trial.h"

#include <timingwheel/ManualClock.h>
#include <timingwheel/store/DurableTimer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <iostream>
#include <memory>
#include <sqlite3.h>
#include <stdexcept>
#include <thread>
#include <unit/components/store/PowerCut.h>
#include <utility>

namespace timingwheel::test::simulation {
namespace {

using store::DurableTimeout;
using store::DurableTimer;

constexpr std::size_t kFew = 40;  // one in so many of all courses: each opens the file anew

/// SQLite's own locks order nothing that this tests: one thread at a time uses it.
void withoutLocksOfSqlite() {
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_initialize();
}

/// A timer on the heap, where races are seen, at noon of some day.
struct World {
    explicit World(DurableTimer::Handler handler, std::size_t threads = 1) {
        store::DurableTimerOptions options;
        options.threads = threads;
        options.errorHandler = [this](store::DurableFailure const&) { ++*errors; };
        options.clock = clock;
        options.retryClock = steady;
        options.fileSystem = PowerCut::kName;
        timer = std::make_unique<DurableTimer>("timeouts.db", std::move(handler), options);
    }
    DurableTimer::TimePoint in(std::chrono::milliseconds delay) const {
        return Clock::systemTime(clock.now()) + delay;
    }
    /// All threads do what they can, also a handler that rests.
    static void restLong() { std::this_thread::sleep_for(milliseconds{9}); }
    static void rest() { std::this_thread::sleep_for(milliseconds{1}); }

    PowerCut disk{1};
    ManualClock clock{Clock::wallTime(DurableTimer::TimePoint{std::chrono::hours{480'012}}),
                      Clock::Kind::wall};
    ManualClock steady;
    std::unique_ptr<int> errors = std::make_unique<int>(0);
    std::unique_ptr<DurableTimer> timer;
};

class DurableTimerInterleavings : public testing::Test {
protected:
    void SetUp() override { withoutLocksOfSqlite(); }

    static void expectFew(Body const& body, std::size_t few = kFew) {
        warmUp();
        Summary const summary = tryAll(1, 2'000'000, body, oneIn(few));
        std::cout << summary << '\n';
        EXPECT_EQ(summary.failed, 0U);
    }
};

TEST_F(DurableTimerInterleavings, ATimeoutIsDeliveredCancelledOrStillInTheFile) {
    expectFew([] {
        std::atomic<std::size_t> calls{0};
        World world{[&](DurableTimeout const&) { ++calls; }};
        auto const first = world.timer->schedule("a", world.in(milliseconds{1}));
        static_cast<void>(world.timer->schedule("b", world.in(milliseconds{1})).get());
        bool isCancelled = false;
        std::thread other{[&] {
            isCancelled = world.timer->cancel("b").get();
            world.timer->backup("copy.db").get();
        }};
        world.clock.advance(milliseconds{1});
        other.join();
        world.timer->stop();
        require(calls + (isCancelled ? 1U : 0U) + world.timer->pendingTimeouts() == 2,
                "one has two outcomes, or none");
    });
}

TEST_F(DurableTimerInterleavings, WhatAHandlerThrowsIsReportedByOneThreadAtATime) {
    expectFew([] {
        std::atomic<std::size_t> calls{0};
        World world{[&](DurableTimeout const&) {
                        bool const throws = ++calls <= 2;
                        World::rest();  // both threads are here
                        if (throws) throw std::runtime_error{"not yet"};
                    },
                    2};
        for (char const* const id : {"a", "b"})
            static_cast<void>(world.timer->schedule(id, world.in(milliseconds{1})).get());
        world.clock.advance(milliseconds{1});
        World::restLong();
        world.steady.advance(std::chrono::seconds{1});
        World::restLong();
        // Half of the horizon: the writer reads on.
        world.clock.advance(std::chrono::minutes{5});
        World::restLong();
        static_cast<void>(world.timer->schedule("c", world.in(milliseconds{1})).get());
        world.clock.advance(milliseconds{1});
        std::this_thread::sleep_for(std::chrono::microseconds{1});  // its handler is called
        std::thread other{[&] { world.timer->stop(); }};
        world.timer->stop();
        other.join();
        auto const thrown = static_cast<std::size_t>(*world.errors);
        require(calls - thrown + world.timer->pendingTimeouts() == 3,
                "one is neither handled nor in the file, or both");
    });
}

TEST_F(DurableTimerInterleavings, WhatAHandlerDidIsSeenOnceItsTimeoutIsGone) {
    expectFew([] {
        auto const handled = std::make_unique<bool>(false);  // on the heap, where races are seen
        World world{[&](DurableTimeout const&) { *handled = true; }};
        static_cast<void>(world.timer->schedule("a", world.in(milliseconds{1})).get());
        world.clock.advance(milliseconds{1});
        while (world.timer->pendingTimeouts() != 0) World::rest();
        require(*handled, "it is gone and was not handled");
    });
}

TEST_F(DurableTimerInterleavings, WhatIsCancelledWhileItWaitsForAThreadIsNotDelivered) {
    expectFew(
        [] {
            std::atomic<std::size_t> calls{0};
            World world{[&](DurableTimeout const& timeout) {
                calls += timeout.id == "b" ? 1U : 0U;
                World::rest();
            }};
            for (char const* const id : {"a", "b"})
                static_cast<void>(world.timer->schedule(id, world.in(milliseconds{1})).get());
            world.clock.advance(milliseconds{1});
            std::this_thread::sleep_for(std::chrono::microseconds{1});  // one is being handled
            static_cast<void>(world.timer->schedule("b", world.in(milliseconds{1'000})).get());
            require(world.timer->cancel("b").get(), "it was far away");
            std::size_t const then = calls;
            World::restLong();
            require(calls == then, "it is called after its cancellation");
            world.timer->stop();
        },
        10);
}

}  // namespace
}  // namespace timingwheel::test::simulation
