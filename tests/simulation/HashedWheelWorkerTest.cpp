// The worker of a flat timer, and those who push timeouts while it goes to sleep.

#include "Trial.h"
#include "core/flat/HashedWheelWorker.h"
#include "core/timeout/TimeoutNode.h"

#include <support/LoneContext.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/TimerTask.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

// Shows G2.

namespace timingwheel::test::simulation {
namespace {

using namespace timingwheel::detail;

/// A worker without a timer around it.
class LoneWorker {
public:
    LoneWorker() { worker_.open(); }
    ~LoneWorker() {
        if (!isStopped_) static_cast<void>(stop());
    }

    /// Accepts a timeout that is due at `tick`.
    template <class Task>
    Timeout schedule(Tick tick, Task task) {
        TimeoutNode* const node =
            TimeoutNode::create({&kTaskOperations<decltype(task)>, &task}, nullptr);
        Timeout handle = TimeoutAccess::adopt(*node);
        context_->limit.acquire();
        require(worker_.schedule(*node, tick, tick), "it is refused");
        return handle;
    }
    Timeout schedule(Tick tick) {
        return schedule(tick, [] {});
    }
    void walk(Tick tick) {
        RunFrame frame{*context_};
        worker_.wake(tick, frame);
    }
    /// How many timeouts it returns.
    std::size_t stop() {
        StoppedTimeouts stopped;
        worker_.close();
        worker_.collect(stopped);
        worker_.tellStopped(stopped);
        isStopped_ = true;
        return stopped.size();
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
    bool isStopped_ = false;
};

TEST(HashedWheelWorkerInterleavings, AWorkerThatFindsNothingIsCalledByWhatIsPushed) {
    expectAll(
        "G2", "interleavings of a push and a worker that goes to sleep that are late",
        [] {
            LoneWorker worker;
            worker.schedule(Tick{1});
            std::thread caller{[&] { worker.schedule(Tick{2}); }};
            worker.walk(Tick{1});
            caller.join();
            require(worker.nextWake() <= Tick{2}, "the worker is not called");
        },
        3);
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

/// Takes its time to go.
class Slow {
public:
    explicit Slow(std::atomic<bool>& isGone) : isGone_{&isGone} {}
    Slow(Slow&& other) noexcept : isGone_{std::exchange(other.isGone_, nullptr)} {}
    ~Slow() {
        if (isGone_ == nullptr) return;
        std::this_thread::sleep_for(milliseconds{1});
        isGone_->store(true);
    }

private:
    std::atomic<bool>* isGone_;
};

// G10. Bug pattern: another thread, which cancels meanwhile, ends what stop() should have ended.
TEST(HashedWheelWorkerInterleavings, WhatWasCancelledBeforeItEndsIsGoneThen) {
    expectAll(
        "G10", "interleavings of a cancel and a worker that ends before what was cancelled",
        [] {
            LoneWorker worker;
            std::atomic<bool> isGone{false};
            Timeout const before = worker.schedule(Tick{9}, [slow = Slow{isGone}] {});
            Timeout const meanwhile =
                worker.schedule(Tick{9}, [capture = std::make_unique<int>(0)] {});
            worker.walk(Tick{1});
            require(before.cancel(), "nobody else cancels");
            std::thread caller{[&] { static_cast<void>(meanwhile.cancel()); }};
            std::this_thread::sleep_for(milliseconds{1});
            static_cast<void>(worker.stop());
            require(isGone, "another thread still has it");
            caller.join();
        },
        3);
}

// G11
TEST(HashedWheelWorkerInterleavings, ATaskMayBeAskedForWhileATickEndsIt) {
    struct SharedTask final : TimerTask {
        void run(Timeout const&) override {}
    };
    expectAll("G11", "interleavings of task() and a tick that ends what was cancelled", [] {
        LoneWorker worker;
        Timeout const timeout =
            worker.schedule(Tick{9}, std::shared_ptr<TimerTask>{std::make_shared<SharedTask>()});
        worker.walk(Tick{1});
        std::thread other{[&] { static_cast<void>(timeout.task()); }};
        std::this_thread::sleep_for(milliseconds{1});
        require(timeout.cancel(), "nobody else cancels");
        worker.walk(Tick{2});
        other.join();
    });
}

// G6. Bug pattern: whoever won the cancel asks a worker to unlink that has ended.
TEST(HashedWheelWorkerInterleavings, WhatIsCancelledWhileItEndsIsReleased) {
    expectAll(
        "G6", "interleavings of a cancel and a worker that ends with captures kept",
        [] {
            LoneWorker worker;
            Timeout const timeout =
                worker.schedule(Tick{9}, [capture = std::make_unique<int>(0)] {});
            worker.walk(Tick{1});
            bool isCancelled = false;
            std::thread caller{[&] { isCancelled = timeout.cancel(); }};
            std::size_t const returned = worker.stop();
            caller.join();
            require(returned + (isCancelled ? 1U : 0U) == 1, "it has no outcome, or two");
            require(worker.statistics().pending == 0, "it still counts");
        },
        3);
}

// G8
// Bug pattern: a cancel() looks at the worker once more, which has ended the timer meanwhile.
TEST(HashedWheelWorkerInterleavings, WhatACancelEndsMayOwnTheHandleAndTheTimer) {
    struct Task {
        void operator()() const noexcept {}
        void cancelled(Timeout const&) const noexcept { owner->end(); }
        Owner<HashedWheelTimer>* owner;
    };
    expectAll("G8", "interleavings of a cancel's end and its timer's with dead memory used", [] {
        std::atomic<bool> isGone = false;
        auto* const owner = new Owner<HashedWheelTimer>{isGone};
        owner->timeout = owner->timer.newTimeout(Task{owner}, milliseconds{9});
        require(owner->timeout.cancel(), "nobody else cancels");
        Owner<HashedWheelTimer>::await(isGone);
    });
}

// G8
// Bug pattern: the end of a timer counts the shares before a stop() on another thread has made all.
TEST(HashedWheelWorkerInterleavings, ATaskMayDestroyItsTimerWhileAStopWaitsForIt) {
    expectAll("G8", "interleavings of a stop() and its timer's end in dead memory", [] {
        std::atomic<bool> isGone = false;
        auto* const owner = new Owner<HashedWheelTimer>{isGone};
        Timeout const waits = owner->timer.newTimeout([] {}, std::chrono::hours{1});
        std::atomic<bool> hasBegun = false;
        auto const task = [owner, &hasBegun] {
            hasBegun = true;
            try {
                for (;; std::this_thread::sleep_for(milliseconds{1}))
                    owner->timer.newTimeout([] {}, std::chrono::hours{1});
            } catch (std::logic_error const&) {
                owner->end();  // the other thread waits for this task
            }
        };
        owner->timer.newTimeout(task, milliseconds{0});
        Owner<HashedWheelTimer>::await(hasBegun);
        static_cast<void>(owner->timer.stop());
        Owner<HashedWheelTimer>::await(isGone);
        require(waits.isReturned() && waits.timer() == nullptr, "no answer");
    });
}

}  // namespace
}  // namespace timingwheel::test::simulation
