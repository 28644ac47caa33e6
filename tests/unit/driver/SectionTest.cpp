#include "BareKeeper.h"
#include "core/base/platform/ProcessBarrier.h"
#include "core/driver/Section.h"
#include "core/driver/run/TaskEnd.h"

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
#include <vector>

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;
using namespace std::chrono_literals;
using Section = TimeoutKeeper::Section;
using Stage = TimerEvent::Stage;

class Observer final : public TimerObserver {
public:
    void onEvent(TimerEvent const& event) noexcept override {
        stages.push_back(event.stage);
        if (also) also();
    }
    std::vector<Stage> stages;
    std::function<void()> also;
};

TEST(Section, HoldsTheLockWhileItLivesAndIsNotReleased) {
    LoneContext context{{}, true};
    BareKeeper keeper{context};
    {
        Section section{keeper};
        EXPECT_TRUE(keeper.isLocked());
        {
            Section::Released const released{section};
            EXPECT_FALSE(keeper.isLocked());
        }
        EXPECT_TRUE(keeper.isLocked());
    }
    EXPECT_FALSE(keeper.isLocked());
}

// Who waits for a condition goes on in its own hold.
TEST(Section, LeansToNoThreadWhileAnotherWaits) {
    LoneContext context{{}, true};
    BareKeeper keeper{context};
    Section section{keeper};
    for (Signal* const signal : {&keeper.runEnded_, &keeper.drained_}) {
        ++signal->waiters;
        section.leanToThisThread();
        EXPECT_FALSE(keeper.bias_.stands());
        --signal->waiters;
    }
    section.leanToThisThread();
    EXPECT_EQ(keeper.bias_.stands(), ProcessBarrier::isAvailable());
}

TEST(Section, HasNoLockForOneThread) {
    LoneContext context{{}, false};
    BareKeeper keeper{context};
    Section const section{keeper};
    EXPECT_FALSE(keeper.isLocked());
}

TEST(Section, RingsByTheEarliestTickWhenItEnds) {
    WakefulClock clock;
    LoneContext context{{.tick = 1ms, .clock = clock}, true};
    BareKeeper keeper{context};
    // True if a driver that is about to sleep until tick 6 falls asleep.
    auto const sleepsThrough = [&](std::initializer_list<std::int64_t> ticks) {
        int const before = clock.waits;
        context.alarm.sleep(Tick{6}, Clock::TimePoint::max(), [&](Tick) {
            Section section{keeper};
            for (std::int64_t const tick : ticks) section.ringBy(Tick{tick});
            return false;
        });
        return clock.waits > before;
    };
    EXPECT_TRUE(sleepsThrough({}));
    EXPECT_TRUE(sleepsThrough({6, 7}));
    EXPECT_FALSE(sleepsThrough({6, 5, 7}));
    EXPECT_TRUE(sleepsThrough({})) << "nothing became earlier";
}

TEST(Section, DeliversInOrderWhatWasRecordedWhenItHasUnlocked) {
    Observer observer;
    LoneContext context{{.observer = &observer}, true};
    BareKeeper keeper{context};
    observer.also = [&keeper] {
        EXPECT_FALSE(keeper.isLocked());
        EXPECT_FALSE(keeper.running_.empty()) << "stop() would not wait";
    };
    {
        Section const section{keeper};
        keeper.record({.stage = Stage::schedule});
        keeper.record({.stage = Stage::place});
        EXPECT_TRUE(observer.stages.empty());
    }
    EXPECT_EQ(observer.stages, (std::vector{Stage::schedule, Stage::place}));
    EXPECT_TRUE(keeper.running_.empty());
}

// The keeper's share goes back when the lock is released: it may be what keeps the keeper.
TEST(Section, ReleasesANodeAndItsShareWhenItHasUnlocked) {
    auto witness = std::make_shared<int>();
    std::weak_ptr<int> const alive = witness;
    auto context = LoneContext::make(
        {.errorHandler = [held = std::move(witness)](TaskFailure const&) { *held = 1; }});
    BareKeeper keeper{*context};
    auto [node, handle] = nodeWith([] {});
    node.keeper.store(&keeper);
    keeper.madeShares_ = 1;
    destroyTask(*context, node);
    context->retain();  // for the keeper
    keeper.orphan();
    context.reset();
    handle = {};  // the driver's reference is the last
    {
        Section section{keeper};
        section.releaseLater(node);
        EXPECT_FALSE(alive.expired());
    }
    EXPECT_TRUE(alive.expired()) << "the keeper still has a share";
}

TEST(Section, WaitsForASignal) {
    Watchdog const watchdog{"a section that waits"};
    LoneContext context{{}, true};
    BareKeeper keeper{context};
    together(2, [&](std::size_t thread) {
        if (thread == 0) {
            Section section{keeper};
            section.waitFor(keeper.drained_, [&keeper] { return keeper.pending_ == 7; });
            EXPECT_TRUE(keeper.isLocked());
            return;
        }
        waitUntil([&keeper] {
            Section const section{keeper};
            return keeper.drained_.waiters == 1;
        });
        Section const section{keeper};
        keeper.pending_ = 7;
        keeper.drained_.notify();
    });
    EXPECT_EQ(keeper.drained_.waiters, 0U);
    EXPECT_FALSE(keeper.isLocked());
}

}  // namespace
}  // namespace timingwheel::detail
