// The worker of a flat timer, and those who push timeouts while it goes to sleep.

#include "Trial.h"
#include "driver/HashedWheelWorker.h"
#include "timeout/TimeoutNode.h"

#include <support/LoneContext.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/TimerStatistics.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>

// Shows G2.

namespace timingwheel::test::simulation {
namespace {

using namespace timingwheel::detail;

/// A worker without a timer around it.
class LoneWorker {
public:
    LoneWorker() { worker_.open(); }
    ~LoneWorker() {
        StoppedTimeouts stopped;
        worker_.close();
        worker_.collect(stopped);
    }

    /// Accepts a timeout that is due at `tick`.
    Timeout schedule(Tick tick) {
        auto task = [] {};
        TimeoutNode* const node =
            TimeoutNode::create({&kTaskOperations<decltype(task)>, &task}, nullptr);
        Timeout handle = TimeoutAccess::adopt(*node);
        context_->limit.acquire();
        require(worker_.schedule(*node, tick, tick), "it is refused");
        return handle;
    }
    void walk(Tick tick) {
        RunFrame frame{*context_};
        worker_.wake(tick, frame);
    }
    Tick nextWake() const { return worker_.nextWake(); }
    TimerStatistics statistics() {
        TimerStatistics statistics;
        worker_.readInto(statistics);
        return statistics;
    }

private:
    ManualClock clock_{Clock::TimePoint{}};
    LoneContext::Pointer context_ = LoneContext::make(
        TimerOptions{.tick = milliseconds{1}, .clock = clock_, .maxPendingTimeouts = SIZE_MAX});
    HashedWheelWorker worker_{*context_, HashedWheelOptions{.ticksPerWheel = 4}};
};

TEST(HashedWheelWorkerInterleavings, AWorkerThatFindsNothingIsCalledByWhatIsPushed) {
    expectAll("G2", "interleavings of a push and a worker that goes to sleep that are late", [] {
        LoneWorker worker;
        worker.schedule(Tick{1});
        std::thread caller{[&] { worker.schedule(Tick{2}); }};
        worker.walk(Tick{1});
        caller.join();
        require(worker.nextWake() <= Tick{2}, "the worker is not called");
    });
}

TEST(HashedWheelWorkerInterleavings, WhatIsCancelledOnItsWayToItsSlotCountsUntilTheNextTick) {
    expectAll(
        "G18", "interleavings of a cancel and a tick that count wrongly",
        [] {
            LoneWorker worker;
            Timeout const timeout = worker.schedule(Tick{9});
            std::thread caller{[&] { require(timeout.cancel(), "nobody else cancels"); }};
            worker.walk(Tick{1});
            caller.join();
            require(worker.nextWake() <= Tick{2} || worker.statistics().pending == 0,
                    "the worker does not come for what was cancelled");
            worker.walk(Tick{2});
            require(worker.statistics().pending == 0, "it still counts");
            require(worker.statistics().cancelled == 1, "it was cancelled twice, or never");
        },
        3);
}

}  // namespace
}  // namespace timingwheel::test::simulation
