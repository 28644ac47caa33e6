#include "BareKeeper.h"
#include "driver/Section.h"
#include "run/TaskEnd.h"

#include <support/Effort.h>
#include <support/LoneContext.h>
#include <support/Threads.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/TimerLoop.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;
using namespace std::chrono_literals;
using Section = TimeoutKeeper::Section;
using Stage = TimerEvent::Stage;

class Loop final : public TimerLoop {
public:
    void onEarlier(Clock::TimePoint expiration) noexcept override { earlier.push_back(expiration); }
    void onIdle() noexcept override { ++idle; }

    std::vector<Clock::TimePoint> earlier;
    int idle = 0;
};

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

TEST(Section, HasNoLockForOneThread) {
    LoneContext context{{}, false};
    BareKeeper keeper{context};
    Section const section{keeper};
    EXPECT_FALSE(keeper.isLocked());
}

TEST(Section, RingsOnceByTheEarliestTickWhenItEnds) {
    ManualClock clock;
    Loop loop;
    LoneContext context{{.tick = 1ms, .clock = clock, .loop = &loop}, false};
    BareKeeper keeper{context};
    context.alarm.stayAwayUntil([] { return Tick{9}; });
    {
        Section section{keeper};
        section.ringBy(Tick{6});
        section.ringBy(Tick{5});
        section.ringBy(Tick{7});
        EXPECT_TRUE(loop.earlier.empty());
    }
    EXPECT_EQ(loop.earlier, std::vector{Clock::TimePoint{5ms}});
    { Section const section{keeper}; }
    EXPECT_EQ(loop.earlier.size(), 1U) << "nothing became earlier";
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

TEST(Section, ReportsToALoopOnceThatNothingIsPendingAnyMore) {
    Loop loop;
    LoneContext context{{.loop = &loop}, false};
    BareKeeper keeper{context};
    auto const setPending = [&keeper](std::size_t pending) {
        Section const section{keeper};
        keeper.pending_ = pending;
    };
    setPending(0);
    EXPECT_EQ(loop.idle, 0) << "nothing was pending before";
    setPending(1);
    EXPECT_EQ(loop.idle, 0);
    setPending(0);
    EXPECT_EQ(loop.idle, 1);
    setPending(0);
    EXPECT_EQ(loop.idle, 1);
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
