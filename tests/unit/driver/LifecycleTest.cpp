#include "core/driver/Lifecycle.h"
#include "core/driver/run/RunFrame.h"

#include <support/DriverThreads.h>
#include <support/Effort.h>
#include <support/LoneContext.h>
#include <support/TestTimers.h>
#include <support/Threads.h>
#include <timingwheel/ManualClock.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;
using namespace std::chrono_literals;
using Caller = Lifecycle::Caller;
using Calls = std::vector<std::string>;

/// An engine that writes down how it is called.
class Engine final : public Lifecycle::Engine {
public:
    Tick nextWake() const noexcept override { return next; }
    void prepare() noexcept override { note("prepare"); }
    void open() noexcept override { note("open"); }
    void drive() noexcept override {
        isDriven = true;
        // A driver may end before or after the close. Here it is after.
        waitUntil([this] { return life->isStopRequested() && isClosed; });
        note("drive");
    }
    void runDueHere() override {
        if (!life->isDue()) return;
        note("run");
        next = Tick::max();
    }
    void close(StoppedTimeouts&) noexcept override {
        note("close");
        isClosed = true;
    }
    void collect(StoppedTimeouts&) noexcept override { note("collect"); }
    void orphanKeepers() noexcept override { note("orphan"); }

    Calls calls() {
        std::lock_guard const lock{mutex_};
        return std::exchange(calls_, {});
    }

    Lifecycle* life = nullptr;
    Tick next = Tick::max();
    std::atomic<bool> isDriven{false};
    std::atomic<bool> isClosed{false};

private:
    void note(char const* call) {
        std::lock_guard const lock{mutex_};
        calls_.emplace_back(call);
    }

    std::mutex mutex_;
    Calls calls_;
};

class LifecycleTest : public testing::Test {
protected:
    void make(TimerOptions options, bool isConcurrent = true) {
        options.tick = 1ms;
        options.name = "tea";
        options.clock = clock_;
        context_.emplace(std::move(options), isConcurrent);
        life_.emplace(*context_, engine_);
        engine_.life = &*life_;
    }

    Watchdog const watchdog_{"a life"};
    ManualClock clock_;
    Engine engine_;
    std::optional<LoneContext> context_;
    std::optional<Lifecycle> life_;
};

TEST_F(LifecycleTest, StartsOnceAndStopsOnce) {
    make({});
    life_->start();
    life_->start();
    waitUntil([this] { return engine_.isDriven.load(); });
    EXPECT_EQ(engine_.calls(), (Calls{"prepare", "open"}));
    EXPECT_FALSE(context_->hasStopped());
    static_cast<void>(life_->stop(Caller::user));
    EXPECT_EQ(engine_.calls(), (Calls{"close", "drive", "collect"}));
    EXPECT_TRUE(context_->hasStopped());
    static_cast<void>(life_->stop(Caller::destructor));
    EXPECT_EQ(engine_.calls(), Calls{});
    expectThrows<std::logic_error>([this] { life_->start(); }, "\"tea\": cannot be started");
}

TEST_F(LifecycleTest, WithoutAThreadItHasBegunAlready) {
    make({}, false);
    life_->start();
    EXPECT_EQ(engine_.calls(), Calls{});
    static_cast<void>(life_->stop(Caller::user));
    EXPECT_EQ(engine_.calls(), (Calls{"close", "collect"}));
}

TEST_F(LifecycleTest, AThreadThatCannotBeMadeIsTriedAgain) {
    make({.threadFactory = FailingFactory{.failures = 1}});
    EXPECT_THROW(life_->start(), std::system_error);
    EXPECT_EQ(engine_.calls(), Calls{"prepare"});
    life_->start();
    EXPECT_EQ(engine_.calls(), (Calls{"prepare", "open"}));
    static_cast<void>(life_->stop(Caller::user));
}

TEST_F(LifecycleTest, TheNextExpirationIsThatOfTheEngineUntilItStops) {
    make({}, false);
    EXPECT_EQ(life_->nextExpiration(), std::nullopt);
    EXPECT_FALSE(life_->isDue());
    engine_.next = Tick{5};
    EXPECT_EQ(life_->nextExpiration(), Clock::TimePoint{5ms});
    EXPECT_FALSE(life_->isDue());
    clock_.advance(5ms);
    EXPECT_TRUE(life_->isDue());
    static_cast<void>(life_->stop(Caller::user));
    EXPECT_EQ(life_->nextExpiration(), std::nullopt);
}

TEST_F(LifecycleTest, RefusesWhatWouldWaitForItselfInsideATask) {
    make({}, false);
    life_->refuseInside("drain()");
    {
        RunFrame const frame{*context_};
        expectThrows<std::logic_error>([this] { life_->refuseInside("drain()"); },
                                       "\"tea\": drain() was called from inside");
        EXPECT_THROW(static_cast<void>(life_->stop(Caller::user)), std::logic_error);
        EXPECT_FALSE(life_->isStopRequested());
        static_cast<void>(life_->stop(Caller::destructor));
        EXPECT_TRUE(life_->isStopRequested());
    }
}

TEST_F(LifecycleTest, AClockThatIsSetByHandDrivesItUntilTheTimerIsGone) {
    make({}, false);
    context_->retain();  // for the test
    life_->listenToClock();
    engine_.next = Tick{5};
    clock_.advance(4ms);
    EXPECT_EQ(engine_.calls(), Calls{});
    clock_.advance(2ms);
    EXPECT_EQ(engine_.calls(), Calls{"run"});
    life_->disown();
    EXPECT_EQ(engine_.calls(), Calls{"orphan"});
    engine_.next = Tick{8};
    clock_.advance(5ms);
    EXPECT_EQ(engine_.calls(), Calls{});
}

}  // namespace
}  // namespace timingwheel::detail
