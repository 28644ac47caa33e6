// The driver thread sleeps: how often it wakes, counted under a clock that is set by hand.

#include <support/Effort.h>
#include <support/TestTimers.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

/// Wake-ups of the driver while `act` is done.
template <class Act>
std::uint64_t wakeUpsOf(SystemTimer& timer, Act&& act) {
    std::uint64_t const before = timer.statistics().wakeUps;
    act();
    return timer.statistics().wakeUps - before;
}

// G21
TEST(Wake, NeverComesWhileTheTimerIsEmpty) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    timer.start();
    clock.advance(0ms);
    std::uint64_t const wakeUps = wakeUpsOf(timer, [&] { clock.advance(10s); });
    figure("G21", "wake-ups of an empty timer in 10 s", wakeUps, exactly(0));
}

// G21
TEST(Wake, ComesAtMostOncePerLevelForOneFarTimer) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    clock.advance(12'345ms);
    bool ran = false;
    timer.newTimeout([&] { ran = true; }, 60s);
    clock.advance(0ms);
    std::uint64_t const wakeUps = wakeUpsOf(timer, [&] { clock.advance(60s); });
    EXPECT_TRUE(ran);
    std::size_t const levels = timer.statistics().cascaded.size();
    figure("G21", "wake-ups for one timeout in 60 s (asked: one for each level)", wakeUps,
           atMost(levels));
}

// G21: the wheel has not moved meanwhile, and yet the timeout is near.
TEST(Wake, ComesForNoOtherLevelAfterALongRest) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    timer.start();
    clock.advance(1h);
    timer.newTimeout([] {}, 5ms);
    clock.advance(0ms);
    EXPECT_EQ(wakeUpsOf(timer, [&] { clock.advance(5ms); }), 1U);
    EXPECT_EQ(timer.statistics().fired, 1U);
    for (std::uint64_t const cascaded : timer.statistics().cascaded) EXPECT_EQ(cascaded, 0U);
}

// G21
TEST(Wake, ComesAtMostOnceForABucketThatCancellingEmptied) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    std::vector<Timeout> timeouts;
    for (int i = 0; i < 1000; ++i) timeouts.push_back(timer.newTimeout([] {}, 3601s + 1ms));
    clock.advance(0ms);
    for (Timeout const& timeout : timeouts) EXPECT_TRUE(timeout.cancel());
    std::uint64_t const wakeUps = wakeUpsOf(timer, [&] { clock.advance(2h); });
    figure("G21", "wake-ups for a bucket of 1,000 that were cancelled", wakeUps, atMost(1));
}

// G21
TEST(Wake, ComesAtMostOncePerBucketThatIsReached) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    std::size_t const count = scaled(1'000'000);
    for (std::size_t i = 0; i < count; ++i) timer.newTimeout([] {}, 1h + (i % 10) * 1ms);
    clock.advance(0ms);
    std::uint64_t const wakeUps = wakeUpsOf(timer, [&] { clock.advance(1h + 10ms); });
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    // Ten buckets at the finest level, and five on the way down.
    figure("G21", "wake-ups for timeouts an hour away (asked: one for each bucket)", wakeUps,
           atMost(10 + 5), {count, 1'000'000});
}

// G21
TEST(Wake, NeverComesForALevelFinerThanTheTolerance) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};  // slots of 1, 20, 400 ms, 8, 160, 3200 s
    int runs = 0;
    for (int i = 0; i < 1000; ++i)
        timer.newTimeout([&] { ++runs; }, 1h + i * 1ms, {.tolerance = 10s});
    clock.advance(0ms);
    std::uint64_t const wakeUps = wakeUpsOf(timer, [&] { clock.advance(1h + 12s); });
    EXPECT_EQ(runs, 1000);
    auto const cascaded = timer.statistics().cascaded;
    for (std::size_t level = 0; level <= 3; ++level) EXPECT_EQ(cascaded[level], 0U);
    // Slots of 3200 and 160 s, two of 8 s.
    figure("G21", "wake-ups for 1,000 an hour away with a tolerance of 10 s", wakeUps, atMost(4));
}

// G21. Bug pattern: an alarm per push-back.
TEST(Wake, DoesNotComeForAPushBack) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    Timeout const timeout = timer.newTimeout([] {}, 1s);
    timer.newTimeout([] {}, 100h);
    clock.advance(0ms);
    std::uint64_t const wakeUps = wakeUpsOf(timer, [&] {
        for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(timer.reschedule(timeout, 1s + i * 1ms));
    });
    EXPECT_EQ(wakeUps, 0U);
}

// A shorter delay that is added later wakes the sleeper, a longer one does not.
TEST(Wake, ComesForAnEarlierTimerAndNotForALaterOne) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    timer.newTimeout([] {}, 10s);
    clock.advance(0ms);
    EXPECT_EQ(wakeUpsOf(timer,
                        [&] {
                            timer.newTimeout([] {}, 20s);
                            timer.newTimeout([] {}, 30s);
                            clock.advance(0ms);
                        }),
              0U);
    bool ran = false;
    EXPECT_GE(wakeUpsOf(timer,
                        [&] {
                            timer.newTimeout([&] { ran = true; }, 5ms);
                            clock.advance(5ms);
                        }),
              1U);
    EXPECT_TRUE(ran);
}

// G21
// The first timeout of another thread is the earliest of its shard, and yet later than what the
// driver sleeps for.
TEST(Wake, DoesNotComeForALaterTimerOfAnotherThread) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock, .shards = 4}};
    timer.newTimeout([] {}, 10s);
    clock.advance(0ms);
    EXPECT_EQ(wakeUpsOf(timer,
                        [&] {
                            for (int i = 0; i < 4; ++i)
                                std::thread{[&] { timer.newTimeout([] {}, 20s); }}.join();
                            clock.advance(0ms);
                        }),
              0U);
    EXPECT_EQ(timer.pendingTimeouts(), 5U);
}

// G21, G22
TEST(Wake, ComesAtMostOncePerTickForDescendingDeadlines) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock, .shards = 1}};
    timer.start();
    constexpr std::int64_t kTicks = 200;
    std::size_t const perTick = scaled(500);
    std::uint64_t const wakeUps = wakeUpsOf(timer, [&] {
        for (std::int64_t tick = kTicks; tick > 0; --tick)
            for (std::size_t i = 0; i < perTick; ++i) timer.newTimeout([] {}, tick * 1ms);
        clock.advance(0ms);
    });
    EXPECT_EQ(timer.pendingTimeouts(), kTicks * perTick);
    figure("G22", "wake-ups for descending deadlines on 200 ticks", wakeUps, atMost(kTicks),
           {kTicks * perTick, 100'000});
}

// G25
TEST(Wake, NeverComesForATimerThatIsNeverDue) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    Timeout const never = timer.newTimeout([] {}, Duration::max());
    Timeout const at = timer.newTimeout([] {}, Clock::TimePoint::max());
    clock.advance(0ms);
    std::uint64_t const wakeUps = wakeUpsOf(timer, [&] { clock.advance(std::chrono::hours{24}); });
    EXPECT_TRUE(never.isPending());
    EXPECT_TRUE(at.isPending());
    figure("G25", "wake-ups for timeouts at max() in 24 h", wakeUps, exactly(0));
}

/// Says until when the driver wants to sleep. Unlike a ManualClock it never wakes it.
class RecordingClock final : public Clock {
public:
    TimePoint now() const noexcept override { return TimePoint{}; }
    std::unique_ptr<Waiter> makeWaiter() override {
        return waiterUntilWoken([this](TimePoint until) {
            wanted = until;
            asleep.open();
        });
    }
    std::atomic<TimePoint> wanted{TimePoint{}};
    Latch asleep;
};

// Bug pattern: a shorter delay added later does not wake the sleeper.
TEST(Wake, ComesForAnEarlierTimerWhereTheClockDoesNot) {
    Watchdog const watchdog{"ever earlier timeouts"};
    RecordingClock clock;
    SystemTimer timer{{.clock = clock}};
    for (auto const delay : {15ms, 10ms, 5ms}) {
        timer.newTimeout([] {}, delay);
        waitUntil([&] { return clock.wanted.load() == Clock::TimePoint{delay}; });
    }
    Latch ran;
    timer.newTimeout([&ran] { ran.open(); }, 0ms);
    ran.wait();
}

/// Lets something happen on another thread while the driver asks for the time.
class InterruptingClock final : public Clock {
public:
    /// Not the first time that it asks, but after so many.
    InterruptingClock(int after, std::function<void()> act) : after_{after}, act_{std::move(act)} {}

    TimePoint now() const noexcept override {
        bool const isOther = std::this_thread::get_id() != maker_;
        if (isOther && calls_++ == after_) std::thread{act_}.join();
        return TimePoint{};
    }
    std::unique_ptr<Waiter> makeWaiter() override {
        return waiterUntilWoken([this](TimePoint until) { wanted = until; });
    }
    std::atomic<TimePoint> wanted{TimePoint{}};

private:
    int const after_;
    std::function<void()> const act_;
    std::thread::id const maker_ = std::this_thread::get_id();
    mutable std::atomic<int> calls_{0};
};

// Bug pattern: what is scheduled between the driver's look at the wheel and its sleep is overslept.
TEST(Wake, ComesForWhatIsScheduledWhileTheDriverGoesToSleep) {
    Watchdog const watchdog{"a timeout that comes while the driver goes to sleep"};
    for (int const after : {0, 1}) {  // it asks once to run what is due, and once before it sleeps
        SystemTimer* driven = nullptr;
        InterruptingClock clock{after, [&driven] { driven->newTimeout([] {}, 5ms); }};
        SystemTimer timer{{.clock = clock}};
        driven = &timer;
        timer.start();
        waitUntil([&clock] { return clock.wanted.load() == Clock::TimePoint{5ms}; });
    }
}

// G25
TEST(Wake, IsAskedForWithoutATimeWhenNothingIsPending) {
    RecordingClock clock;
    SystemTimer timer{{.clock = clock}};
    timer.start();
    clock.asleep.wait();
    static_cast<void>(timer.stop());
    EXPECT_EQ(clock.wanted.load(), Clock::TimePoint::max());
}

// G10: prompt whatever the tick.
TEST(Wake, ComesForStopWhateverTheTick) {
    Watchdog const watchdog{"stop() of a timer that sleeps"};
    RecordingClock clock;
    SystemTimer timer{{.tick = std::chrono::hours{24}, .clock = clock}};
    timer.newTimeout([] {}, 1s);
    clock.asleep.wait();
    EXPECT_EQ(timer.stop().size(), 1U);
}

// Bug pattern: the next alarm is computed from a cancelled timer, and never again.
TEST(Wake, ComesForTheNextOneWhenTheEarliestWasCancelled) {
    ManualClock clock;
    SystemTimer timer{{.clock = clock}};
    for (int round = 0; round < 50; ++round) {
        Timeout const first = timer.newTimeout([] {}, 3ms);
        Timeout const second = timer.newTimeout([] {}, 5ms);
        EXPECT_TRUE(first.cancel());
        clock.advance(4ms);
        EXPECT_TRUE(second.isPending());
        clock.advance(1ms);
        EXPECT_TRUE(second.isExpired());
    }
}

}  // namespace
}  // namespace timingwheel::test
