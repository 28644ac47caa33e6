// A sender's operation among other threads: whoever comes when, it completes once, and with a value
// only on the timer.

#include "Loop.h"
#include "Trial.h"

#include <support/Receiver.h>
#include <timingwheel/TimedScheduler.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <thread>

// Shows G29.

namespace timingwheel::test::simulation {
namespace {

/// A timer, and an operation whose completion destroys it.
class World {
public:
    explicit World(Executor executor = {}) {
        TimerOptions options = smallOptions<SystemTimer>();
        options.executor = executor;
        timer = std::make_unique<SystemTimer>(options);
    }

    void start(Duration delay) {
        operation.reset(new Operation{Elided{[&] {
            return TimedScheduler{*timer}.schedule_after(delay).connect(
                StoppableReceiver{completion, source.get_token()});
        }}});
        completion.then = [this] { operation.reset(); };
        operation->start();
    }
    /// For one whose time is far away.
    void expectCompletedSoon() {
        for (int i = 0; i < 9 && completion.count() == 0; ++i)
            std::this_thread::sleep_for(milliseconds{1});
        require(completion.count() == 1, "nothing has completed it");
    }
    void end(int completions) {
        static_cast<void>(timer->stop());
        require(completion.count() == completions, "it did not complete, or twice");
        require(completion.errors == 0, "an error");
        require(completion.values == 0 || completion.thread != std::this_thread::get_id(),
                "a value on the thread that started it");
        timer.reset();
    }

    using Operation = TimedOperation<StoppableReceiver<std::stop_token>>;

    std::stop_source source;
    Completion completion;
    std::unique_ptr<Operation> operation;
    std::unique_ptr<SystemTimer> timer;
};

TEST(TimedSchedulerInterleavings, AStopAndTheExpiryHaveOneWinner) {
    expectAll("G29", "interleavings of a stop and an expiry that complete an operation not once",
              [] {
                  World world;
                  world.start(milliseconds{1});
                  std::thread other{[&] { world.source.request_stop(); }};
                  std::this_thread::sleep_for(milliseconds{2});
                  other.join();
                  world.end(1);
              });
}

TEST(TimedSchedulerInterleavings, AStopMayComeWhileItStarts) {
    expectAll("G29", "interleavings of a stop and a start that complete an operation not once", [] {
        World world;
        std::thread other{[&] { world.source.request_stop(); }};
        world.start(milliseconds{50});
        other.join();
        world.expectCompletedSoon();
        world.end(1);
    });
}

// Bug pattern: the thread that starts it completes it, as its time has come meanwhile.
TEST(TimedSchedulerInterleavings, TheExpiryMayComeWhileItStarts) {
    expectAll("G29", "interleavings of a start and its expiry that complete it elsewhere", [] {
        World world;
        world.start(milliseconds{0});
        world.expectCompletedSoon();
        require(world.completion.values == 1, "it had another end");
        world.end(1);
    });
}

TEST(TimedSchedulerInterleavings, TheTimerMayStopMeanwhile) {
    expectAll("G29", "interleavings of stop(), a stop and an expiry that complete it not once", [] {
        World world;
        world.start(milliseconds{1});
        std::thread other{[&] { world.source.request_stop(); }};
        static_cast<void>(world.timer->stop());
        require(world.completion.count() == 1, "stop() has not waited for it");
        other.join();
        world.end(1);
    });
}

TEST(TimedSchedulerInterleavings, CancelAllMayComeWhileItStarts) {
    expectAll("G29", "interleavings of cancelAll() and a start that complete it not once", [] {
        World world;
        std::thread other{[&] { world.timer->cancelAll(); }};
        world.start(milliseconds{20});
        world.source.request_stop();
        other.join();
        world.expectCompletedSoon();
        world.end(1);
    });
}

TEST(TimedSchedulerInterleavings, ItMayBeDestroyedOnTheThreadThatWouldCompleteIt) {
    expectAll("G29", "interleavings of an operation's end and what would complete it that do", [] {
        Loop loop;
        World world{loop};
        world.start(milliseconds{1});
        std::thread other{[&] { world.source.request_stop(); }};
        std::this_thread::sleep_for(milliseconds{1});
        world.operation.reset();
        loop.runAll();
        other.join();
        std::this_thread::sleep_for(milliseconds{1});
        loop.runAll();
        require(world.timer->pendingTimeouts() == 0, "it is still pending");
        world.end(0);
    });
}

}  // namespace
}  // namespace timingwheel::test::simulation
