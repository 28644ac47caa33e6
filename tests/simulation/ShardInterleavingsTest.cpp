// One shard, one node, and those who may act on it at the same time, without a timer around them:
// little enough for more departures from the plain course of things.

#include "Trial.h"
#include "core/driver/Shard.h"
#include "core/timeout/TimeoutNode.h"

#include <support/LoneContext.h>
#include <timingwheel/ManualClock.h>

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

using namespace timingwheel::detail;

/// What one timeout is in the end. The steps of a driver, of a cancel and of a push-back are those
/// of the library.
class OneTimeout {
public:
    static constexpr Tick kDue{1};
    static constexpr Tick kPushedTo{2};

    OneTimeout() {
        shard_.open();
        auto task = [this] {
            require(!isCancelled_, "it ran although a cancel() won");
            require(tick_ >= deadline_, "it ran before what a push-back was told");
            ++runs_;
        };
        TimeoutNode* const node =
            TimeoutNode::create({&kTaskOperations<decltype(task)>, &task}, nullptr);
        handle = TimeoutAccess::adopt(*node);
        static_cast<void>(shard_.schedule(*node, kDue, kDue, clock_.now()));
        // From the first one on, push-backs need no lock.
        static_cast<void>(pushBackTo(*node, kDue));
    }
    ~OneTimeout() {
        handle = Timeout{};
        StoppedTimeouts stopped;
        shard_.close(stopped);
    }

    void cancel() {
        if (!shard_.cancel(node())) return;
        Aside const aside;
        require(runs_ == 0, "a cancel() won although it ran");
        require(!isCancelled_, "two cancel() won");
        isCancelled_ = true;
    }
    void pushBack() {
        bool const isMoved = pushBackTo(node(), kPushedTo);
        Aside const aside;
        if (isMoved) deadline_ = kPushedTo;
        require(!isMoved || runs_ == 0, "a push-back was told that it came in time");
    }
    /// The driver comes at the tick.
    void serve(Tick tick) {
        {
            Aside const aside;
            tick_ = tick;
        }
        RunFrame frame{*context_};
        static_cast<void>(shard_.serve(tick, frame, 10));
    }
    /// Another timeout, which nobody waits for.
    void scheduleAgain() {
        auto task = [] {};
        TimeoutNode* const other =
            TimeoutNode::create({&kTaskOperations<decltype(task)>, &task}, nullptr);
        Timeout const owned = TimeoutAccess::adopt(*other);
        static_cast<void>(shard_.schedule(*other, kPushedTo, kPushedTo, clock_.now()));
    }
    /// The driver has nothing to do, and nobody to wake it but who schedules.
    void sleepUntilItIsWanted() {
        context_->alarm.sleep(Tick::max(), Clock::TimePoint::max(),
                              [this](Tick tick) { return shard_.nextWake() < tick; });
    }
    void expectOneOutcome() {
        Aside const aside;
        require(runs_ + (isCancelled_ ? 1 : 0) == 1, "it has no outcome, or two");
    }

    Timeout handle;

private:
    TimeoutNode& node() { return *TimeoutAccess::node(handle); }
    bool pushBackTo(TimeoutNode& node, Tick deadline) {
        return shard_.rescheduleAt(node, context_->scale.timeOf(deadline), deadline);
    }

    ManualClock clock_{Clock::TimePoint{}};
    LoneContext::Pointer context_ =
        LoneContext::make(TimerOptions{.tick = milliseconds{1}, .wheelSize = 4, .clock = clock_});
    Shard shard_{*context_, 0};
    Tick deadline_ = kDue;
    Tick tick_{0};
    int runs_ = 0;
    bool isCancelled_ = false;
};

// G4
TEST(ShardInterleavings, CancelPushBackAndExpiryAgree) {
    expectAll(
        "G4", "interleavings of cancel, push-back and expiry with two outcomes, or too early",
        [] {
            OneTimeout timeout;
            std::thread canceller{[&] { timeout.cancel(); }};
            std::thread pusher{[&] { timeout.pushBack(); }};
            timeout.serve(OneTimeout::kDue);
            canceller.join();
            pusher.join();
            timeout.serve(OneTimeout::kPushedTo);
            timeout.expectOneOutcome();
        },
        departures() + 1);
}

// G1
TEST(ShardInterleavings, PushBackAndExpiryAgree) {
    expectAll(
        "G1", "interleavings of a push-back and expiry with an early run, or none",
        [] {
            OneTimeout timeout;
            std::thread pusher{[&] { timeout.pushBack(); }};
            timeout.serve(OneTimeout::kDue);
            pusher.join();
            timeout.serve(OneTimeout::kPushedTo);
            timeout.expectOneOutcome();
        },
        departures() + 2);
}

// G4
TEST(ShardInterleavings, CancelAndExpiryAgree) {
    expectAll(
        "G4", "interleavings of cancel and expiry with no outcome, or two",
        [] {
            OneTimeout timeout;
            std::thread canceller{[&] { timeout.cancel(); }};
            timeout.serve(OneTimeout::kDue);
            canceller.join();
            timeout.expectOneOutcome();
        },
        departures() + 2);
}

TEST(ShardInterleavings, ADriverThatFallsAsleepSeesWhatIsScheduled) {
    expectAll("G2",
              "interleavings of a shard's schedule and a driver that falls asleep that are late",
              [] {
                  OneTimeout timeout;
                  timeout.cancel();
                  timeout.serve(OneTimeout::kDue);
                  std::thread driver{[&] { timeout.sleepUntilItIsWanted(); }};
                  timeout.scheduleAgain();
                  driver.join();
              });
}

// G11
TEST(ShardInterleavings, TheLastReferenceFreesTheNode) {
    expectAll(
        "G11", "interleavings of a node's references with memory lost or used again",
        [] {
            auto task = [] {};
            TimeoutNode* const node =
                TimeoutNode::create({&kTaskOperations<decltype(task)>, &task}, nullptr);
            Timeout handle = TimeoutAccess::adopt(*node);
            // One cancels: the driver's reference is given up, and never counted.
            std::thread canceller{[node, own = handle] {
                node->setTaskGone();
                node->giveUpDriversReference();
            }};
            std::thread other{[copy = handle]() mutable {
                Timeout const another = copy;
                copy = Timeout{};
            }};
            handle = Timeout{};
            canceller.join();
            other.join();
        },
        departures() + 2);
}

}  // namespace
}  // namespace timingwheel::test::simulation
