#include "BareKeeper.h"
#include "core/base/platform/ProcessBarrier.h"
#include "core/driver/keeper/Keeper.h"
#include "core/driver/run/RunFrame.h"
#include "core/driver/run/TaskEnd.h"

#include <support/Contender.h>
#include <support/Effort.h>
#include <support/LoneContext.h>
#include <support/Threads.h>
#include <support/Waiters.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <thread>
#include <vector>

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;
using namespace std::chrono_literals;
using Stage = TimerEvent::Stage;

class StageObserver final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        stages.push_back(event.stage);
        if (also) also();
    }
    std::vector<Stage> stages;
    std::function<void()> also;
};

/// Another thread takes a hold and ends it. If it cannot, a watchdog ends the test.
void holdElsewhere(Keeper& keeper) {
    std::thread{[&keeper] { Hold const hold{keeper}; }}.join();
}

TEST(Hold, HoldsTheLockWhileItLivesAndIsNotReleased) {
    Watchdog const watchdog{"a hold"};
    LoneContext context{{}, true};
    BareKeeper keeper{context};
    Contender first{[&keeper] { Hold const hold{keeper}; }};
    Contender second{[&keeper] { Hold const hold{keeper}; }};
    {
        Hold hold{keeper};
        EXPECT_TRUE(first.hasToWait());
        {
            Hold::Released const released{hold};
            first.end();
        }
        EXPECT_TRUE(second.hasToWait());
    }
    second.end();
}

TEST(Hold, HasNoLockForOneThread) {
    Watchdog const watchdog{"a hold without a lock"};
    LoneContext context{{}, false};
    BareKeeper keeper{context};
    Hold const hold{keeper};
    holdElsewhere(keeper);
}

// G31
TEST(Hold, LeansToTheThreadOfALoop) {
    LoneContext context{{}, DrivenBy::loop};
    BareKeeper keeper{context};
    EXPECT_FALSE(keeper.isBiased());
    Hold{keeper}.favourThisThread();
    EXPECT_EQ(keeper.isBiased(), ProcessBarrier::isAvailable());
    holdElsewhere(keeper);
    EXPECT_FALSE(keeper.isBiased());
}

// A loop is often set up by another thread than that which drives it.
TEST(Hold, TheFirstShareFavoursItsThreadUnlessALoopDrives) {
    for (DrivenBy const driver : {DrivenBy::thread, DrivenBy::caller, DrivenBy::loop}) {
        LoneContext context{{}, driver};
        BareKeeper keeper{context};
        EXPECT_FALSE(keeper.areSharesBiased());
        Hold{keeper}.makeShare();
        bool const isLoop = driver == DrivenBy::loop;
        EXPECT_EQ(keeper.areSharesBiased(), !isLoop && ProcessBarrier::isAvailable());
        if (isLoop) Hold{keeper}.favourThisThread();
        EXPECT_EQ(keeper.areSharesBiased(), ProcessBarrier::isAvailable());
        EXPECT_EQ(Hold{keeper}.tasks().madeShares, 1);
    }
}

// A thread that waits for a condition goes on in its own hold.
TEST(Hold, LeansToNoThreadWhileAnotherWaits) {
    Watchdog const watchdog{"a hold that waits"};
    LoneContext context{{}, DrivenBy::loop};
    BareKeeper keeper{context};
    RunFrame frame{context};
    for (bool const isForRuns : {true, false}) {
        bool isWaiting = false;
        bool isOver = false;
        std::thread waiter{[&] {
            Hold hold{keeper};
            isWaiting = true;
            if (isForRuns)
                hold.waitForRuns([&isOver] { return isOver; });
            else
                hold.waitForDrain([&isOver] { return isOver; });
        }};
        waitUntil([&] {
            Hold const hold{keeper};
            return isWaiting;
        });
        {
            Hold hold{keeper};
            hold.favourThisThread();
            EXPECT_FALSE(keeper.isBiased());
            isOver = true;
            hold.tasks().running.add(frame);
            hold.endRun(frame);
        }
        waiter.join();
    }
    Hold{keeper}.favourThisThread();
    EXPECT_EQ(keeper.isBiased(), ProcessBarrier::isAvailable());
}

TEST(Hold, RingsByTheEarliestTickWhenItEnds) {
    WakefulClock clock;
    LoneContext context{{.tick = 1ms, .clock = clock}, true};
    BareKeeper keeper{context};
    // True if a driver that is about to sleep until tick 6 falls asleep.
    auto const sleepsThrough = [&](std::initializer_list<std::int64_t> ticks) {
        int const before = clock.waits;
        context.alarm.sleep(Tick{6}, Clock::TimePoint::max(), [&](Tick) {
            Hold hold{keeper};
            for (std::int64_t const tick : ticks) hold.wakeBy(Tick{tick});
            return false;
        });
        return clock.waits > before;
    };
    EXPECT_TRUE(sleepsThrough({}));
    EXPECT_TRUE(sleepsThrough({6, 7}));
    EXPECT_FALSE(sleepsThrough({6, 5, 7}));
    EXPECT_TRUE(sleepsThrough({})) << "nothing became earlier";
}

TEST(Hold, MakesTheNextWakeEarlierAtOnce) {
    LoneContext context{{}, true};
    BareKeeper keeper{context};
    EXPECT_EQ(keeper.nextWake(), Tick::max());
    Hold hold{keeper};
    hold.wakeBy(Tick{6});
    EXPECT_EQ(keeper.nextWake(), Tick{6});
    hold.wakeBy(Tick{7});
    EXPECT_EQ(keeper.nextWake(), Tick{6});
    hold.wakeBy(Tick{5});
    EXPECT_EQ(keeper.nextWake(), Tick{5});
    hold.setNextWake(Tick{9});
    EXPECT_EQ(keeper.nextWake(), Tick{9});
    hold.wakeBy(Tick::max());
    EXPECT_EQ(keeper.nextWake(), Tick{9});
}

TEST(Hold, DeliversInOrderWhatWasRecordedWhenItHasUnlocked) {
    Watchdog const watchdog{"a hold that delivers"};
    StageObserver observer;
    LoneContext context{{.observer = &observer}, true};
    BareKeeper keeper{context};
    observer.also = [&keeper] {
        holdElsewhere(keeper);
        EXPECT_FALSE(Hold{keeper}.tasks().running.empty()) << "stop() would not wait";
    };
    {
        Hold const hold{keeper};
        hold.tasks().events.record({.stage = Stage::schedule});
        hold.tasks().events.record({.stage = Stage::place});
        EXPECT_TRUE(observer.stages.empty());
    }
    EXPECT_EQ(observer.stages, (std::vector{Stage::schedule, Stage::place}));
    EXPECT_TRUE(Hold{keeper}.tasks().running.empty());
}

// The keeper's share goes back when the lock is released: it may be what keeps the keeper.
TEST(Hold, ReleasesANodeAndItsShareWhenItHasUnlocked) {
    auto witness = std::make_shared<int>();
    std::weak_ptr<int> const alive = witness;
    auto context = LoneContext::make(
        {.errorHandler = [held = std::move(witness)](TaskFailure const&) { *held = 1; }});
    BareKeeper keeper{*context};
    auto [node, handle] = nodeWith([] {});
    node.keeper.store(&keeper);
    Hold{keeper}.tasks().madeShares = 1;
    destroyTask(*context, node);
    context->retain();  // for the keeper
    keeper.orphan();
    context.reset();
    handle = {};  // the driver's reference is the last
    {
        Hold hold{keeper};
        hold.releaseLater(node);
        EXPECT_FALSE(alive.expired());
    }
    EXPECT_TRUE(alive.expired()) << "the keeper still has a share";
}

TEST(Hold, WaitsForADrain) {
    Watchdog const watchdog{"a hold that waits for a drain"};
    LoneContext context{{}, true};
    BareKeeper keeper{context};
    Contender other{[&keeper] { Hold const hold{keeper}; }};
    bool isWaiting = false;
    together(2, [&](std::size_t thread) {
        if (thread == 0) {
            Hold hold{keeper};
            isWaiting = true;
            hold.waitForDrain([&hold] { return hold.tasks().pending == 7; });
            EXPECT_TRUE(other.hasToWait());
            return;
        }
        waitUntil([&] {
            Hold const hold{keeper};
            return isWaiting;
        });
        Hold hold{keeper};
        hold.tasks().pending = 7;
        hold.notifyDrained();
    });
    other.end();
}

TEST(Hold, TheEndOfTheLastRunIsADrainWhenNothingIsPending) {
    Watchdog const watchdog{"holds that wait for the end of a run"};
    LoneContext context{{}, true};
    BareKeeper keeper{context};
    RunFrame frame{context};
    Hold{keeper}.tasks().running.add(frame);
    std::size_t waiting = 0;
    together(3, [&](std::size_t thread) {
        if (thread < 2) {
            Hold hold{keeper};
            ++waiting;
            if (thread == 0)
                hold.waitForRuns([&hold] { return hold.tasks().running.empty(); });
            else
                hold.waitForDrain([&hold] { return hold.tasks().isDrained(); });
            return;
        }
        waitUntil([&] {
            Hold const hold{keeper};
            return waiting == 2;
        });
        Hold{keeper}.endRun(frame);
    });
}

}  // namespace
}  // namespace timingwheel::detail
