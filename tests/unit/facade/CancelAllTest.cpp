// cancelAll() cancels what was accepted before it, and the timer goes on.

#include "unit/facade/IdleSession.h"

#include <support/Executors.h>
#include <support/Figure.h>
#include <support/TestTimers.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerObserver.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

// Shows G28.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

/// Counts what becomes of it.
class Job final : public TimerTask {
public:
    void run(Timeout const&) override { ++runs; }
    void cancelled(Timeout const& timeout) override {
        ++cancellations;
        wasCancelled = timeout.isCancelled();
    }
    int runs = 0;
    int cancellations = 0;
    bool wasCancelled = false;
};

template <class T>
using CancelAll = OfWheelTimers<T>;
TYPED_TEST_SUITE(CancelAll, WheelTimers, NamesOfTimers);

TYPED_TEST(CancelAll, CancelsEachKindAndGoesOn) {
    TypeParam timer{this->options()};
    int runs = 0;
    std::deque<Session> sessions(600);  // several chunks, on several levels
    std::vector<Timeout> timeouts;
    for (std::size_t i = 0; i < sessions.size(); ++i) {
        timer.schedule(sessions[i].hook, 1ms * static_cast<int>(1 + i * i));
        timeouts.push_back(timer.newTimeout([&] { ++runs; }, 1ms * static_cast<int>(1 + 7 * i)));
    }
    timeouts.push_back(timer.scheduleAtFixedRate([&] { ++runs; }, 1ms, 5ms));
    timeouts.push_back(timer.scheduleWithFixedDelay([&] { ++runs; }, 3ms, 5ms));
    auto const job = std::make_shared<Job>();
    timeouts.push_back(timer.newTimeout(job, 1h));
    timeouts[1].cancel();
    timer.reschedule(timeouts[2], 90ms);  // it waits in an earlier bucket

    std::size_t const pending = timer.pendingTimeouts();
    EXPECT_EQ(timer.cancelAll(), pending);
    timer.checkInvariants();
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(job->cancellations, 1);
    EXPECT_TRUE(job->wasCancelled);
    EXPECT_EQ(timer.statistics().cancelled, pending + 1);
    EXPECT_EQ(timer.cancelAll(), 0U) << "nothing is left";

    Timeout const after = timer.newTimeout([&] { runs += 1000; }, 10ms);
    timer.schedule(sessions[0].hook, 10ms);
    timer.checkInvariants();
    EXPECT_TRUE(timer.reschedule(after, 5ms)) << "nothing is cancelled any more";
    EXPECT_EQ(timer.cancelAll(), 2U);
    Timeout const last = timer.newTimeout([&] { runs += 1000; }, 10ms);
    this->clock.advance(10h);
    EXPECT_EQ(runs, 1000) << "only what came after it runs";
    EXPECT_TRUE(last.isExpired());
    EXPECT_EQ(job->runs, 0);
    for (std::size_t i = 1; i < sessions.size(); ++i) ASSERT_EQ(sessions[i].runs, 0) << i;
    for (Timeout const& timeout : timeouts) ASSERT_TRUE(timeout.isCancelled() || timeout.isDone());
}

TYPED_TEST(CancelAll, DestroysCapturesBeforeItReturns) {
    TypeParam timer{this->options()};
    auto const capture = std::make_shared<int>();
    for (int i = 0; i < 300; ++i) timer.newTimeout([capture] {}, 1s);
    EXPECT_EQ(timer.cancelAll(), 300U);
    EXPECT_EQ(capture.use_count(), 1);
}

TYPED_TEST(CancelAll, FromInsideATaskAlsoCancelsWhatIsDueWithIt) {
    TypeParam timer{this->options()};
    int runs = 0;
    std::size_t cancelled = 0;
    timer.newTimeout([&] { cancelled = timer.cancelAll(); }, 5ms);
    for (int i = 0; i < 9; ++i) timer.newTimeout([&] { ++runs; }, 5ms);
    timer.newTimeout([&] { ++runs; }, 6ms);
    this->clock.advance(1s);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(cancelled, 10U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    timer.checkInvariants();
}

TYPED_TEST(CancelAll, EndsAPeriodicTaskThatCallsIt) {
    TypeParam timer{this->options()};
    int runs = 0;
    std::size_t cancelled = 0;
    auto const job = std::make_shared<Job>();
    Timeout const periodic = timer.scheduleAtFixedRate(
        [&] {
            ++runs;
            cancelled = timer.cancelAll() * 10 + timer.cancelAll();
        },
        1ms, 1ms);
    this->clock.advance(1s);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(cancelled, 10U) << "one, and then none";
    EXPECT_TRUE(periodic.isCancelled());
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(timer.statistics().cancelled, 1U);
}

// Bug pattern: a loop that goes on until nothing is pending never ends here.
TYPED_TEST(CancelAll, LeavesWhatACancelledTaskSchedules) {
    struct Again {
        WheelTimer& timer;
        int& left;
        void operator()() const {}
        void cancelled(Timeout const&) const { timer.newTimeout(Again{timer, left}, 1s), ++left; }
    };
    TypeParam timer{this->options({.maxPendingTimeouts = 3})};
    int left = 0;
    for (int i = 0; i < 3; ++i) timer.newTimeout(Again{timer, left}, 1s);
    EXPECT_EQ(timer.cancelAll(), 3U);
    EXPECT_EQ(left, 3) << "the limit is free before cancelled() is called";
    EXPECT_EQ(timer.pendingTimeouts(), 3U);
    EXPECT_EQ(timer.stop().size(), 3U);
}

TYPED_TEST(CancelAll, OfATimerThatHasStoppedFindsNothing) {
    TypeParam timer{this->options()};
    timer.newTimeout([] {}, 1s);
    EXPECT_EQ(timer.stop().size(), 1U);
    EXPECT_EQ(timer.cancelAll(), 0U);
}

TYPED_TEST(CancelAll, MayDestroyTheTimer) {
    struct Last {
        std::unique_ptr<TypeParam>* timer;
        void operator()() const {}
        void cancelled(Timeout const&) const { timer->reset(); }
    };
    auto timer = std::make_unique<TypeParam>(this->options());
    auto const capture = std::make_shared<int>();
    for (int i = 0; i < 3; ++i) timer->newTimeout([capture] {}, 1s);
    timer->newTimeout(Last{&timer}, 1s);
    for (int i = 0; i < 3; ++i) timer->newTimeout([capture] {}, 1s);
    EXPECT_EQ(timer->cancelAll(), 7U);
    EXPECT_EQ(timer, nullptr);
    EXPECT_EQ(capture.use_count(), 1);
}

// Bug pattern: what waits for the end of a timeout that the same cancelAll() has not come to yet.
TYPED_TEST(CancelAll, LetsACaptureWaitForTheOthers) {
    /// A session with timeouts of its own, which one of them keeps alive.
    struct Owner {
        ScopedTimeout first;
        ScopedTimeout second;
    };
    TypeParam timer{this->options()};
    auto const capture = std::make_shared<int>();
    for (int i = 0; i < 100; ++i) {
        auto owner = std::make_shared<Owner>();
        owner->first = timer.newTimeout([capture] {}, 1s);
        timer.newTimeout([owner] {}, 1s);
        owner->second = timer.newTimeout([capture] {}, 1s);
    }
    EXPECT_EQ(timer.cancelAll(), 300U);
    EXPECT_EQ(capture.use_count(), 1);
}

TYPED_TEST(CancelAll, IsObservedAsManyCancels) {
    class Counter final : public TimerObserver {
    public:
        void onEvent(TimerEvent const& event) noexcept override {
            cancels += event.stage == TimerEvent::Stage::cancel ? 1 : 0;
        }
        int cancels = 0;
    };
    Counter counter;
    TypeParam timer{this->options({.observer = &counter})};
    std::deque<Session> sessions(300);
    for (Session& each : sessions) timer.schedule(each.hook, 1h);
    for (int i = 0; i < 300; ++i) timer.newTimeout([] {}, 1ms * (1 + i));
    EXPECT_EQ(timer.cancelAll(), 600U);
    EXPECT_EQ(counter.cancels, 600);
}

TEST(CancelAllTest, CancelsWhatWaitsForAnExecutor) {
    HoldingExecutor holder;
    SettableClock clock;
    SystemTimer timer{{.clock = clock, .executor = holder}};
    int runs = 0;
    std::deque<Session> sessions(3);
    for (Session& each : sessions) timer.schedule(each.hook, 1ms);
    for (int i = 0; i < 3; ++i) timer.newTimeout([&] { ++runs; }, 1ms);
    timer.newTimeout([&] { ++runs; }, 1h);
    clock.add(2ms);
    holder.waitFor(6);
    EXPECT_EQ(timer.cancelAll(), 7U);
    holder.runAll();
    EXPECT_EQ(runs, 0);
    for (Session const& each : sessions) EXPECT_EQ(each.runs, 0);
    timer.checkInvariants();
}

// G28
TEST(CancelAllTest, ReachesTheShardsOfAllThreads) {
    constexpr std::size_t kThreads = 6;
    constexpr std::size_t kEach = 10'000;
    SystemTimer timer{{.shards = 4}};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
        threads.emplace_back([&] {
            for (std::size_t k = 0; k < kEach; ++k) timer.newTimeout([] {}, 1h);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(timer.cancelAll(), kThreads * kEach);
    figure("G28", "timeouts that cancelAll() leaves", timer.pendingTimeouts(), exactly(0),
           {kThreads * kEach, 60'000});
}

}  // namespace
}  // namespace timingwheel::test
