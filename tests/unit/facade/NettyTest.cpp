// The fifteen cases of Netty's own test of its HashedWheelTimer, with their numbers. On the manual
// clock where the case is not about real time; what Netty waits for is then exact.

#include <support/Handles.h>
#include <support/HashedWheel.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

using Netty = OfHashedWheel;

// Netty's case 1: a task of 10 s has not run within 3 s.
TEST_F(Netty, ATaskDoesNotRunBeforeItsDelayIsOver) {
    HashedWheelTimer timer{options()};
    int runs = 0;
    Timeout const t = timer.newTimeout([&] { ++runs; }, 10s);
    clock.advance(3s);
    EXPECT_EQ(runs, 0);
    EXPECT_FALSE(t.isExpired());
    clock.advance(7s);
    EXPECT_EQ(runs, 0);  // at 10 s exactly the tick of the deadline is not over
    clock.advance(100ms);
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(t.isExpired());
}

// Netty's case 2: a task of 2 s has run within 3 s.
TEST_F(Netty, ATaskRunsWhenItsDelayIsOver) {
    HashedWheelTimer timer{options()};
    nanoseconds ranAt{0};
    Timeout const t = timer.newTimeout([&] { ranAt = now(); }, 2s);
    clock.advance(3s);
    EXPECT_TRUE(t.isExpired());
    EXPECT_EQ(ranAt, 2100ms);
}

// Netty's case 3: stop() returns nothing when all have run, and what has not run otherwise.
TEST_F(Netty, StopReturnsWhatHasNotRun) {
    HashedWheelTimer processed{options()};
    int runs = 0;
    for (int i = 0; i < 3; ++i) processed.newTimeout([&] { ++runs; }, 1ms);
    clock.advance(100ms);
    EXPECT_EQ(runs, 3);
    EXPECT_EQ(processed.stop().size(), 0U);

    HashedWheelTimer unprocessed{options()};
    for (int i = 0; i < 5; ++i) unprocessed.newTimeout([&] { ++runs; }, 5s);
    clock.advance(1s);
    EXPECT_EQ(unprocessed.stop().size(), 5U);
    EXPECT_EQ(runs, 3);
}

// Netty's case 4: newTimeout throws once the timer was stopped.
TEST_F(Netty, NewTimeoutThrowsAfterStop) {
    HashedWheelTimer timer{options()};
    int runs = 0;
    for (int i = 0; i < 3; ++i) timer.newTimeout([&] { ++runs; }, 1ms);
    clock.advance(100ms);
    EXPECT_EQ(runs, 3);
    static_cast<void>(timer.stop());
    EXPECT_THROW(timer.newTimeout([&] { ++runs; }, 1ms), std::logic_error);
    clock.advance(1s);
    EXPECT_EQ(runs, 3);
}

// Netty's case 5: in a wheel of 32 slots a task schedules itself again at 100 ms, and again.
TEST_F(Netty, ATaskMayScheduleItselfAgainAndAgain) {
    HashedWheelTimer timer{options({.tick = 100ms, .ticksPerWheel = 32})};
    std::vector<nanoseconds> ranAt;
    std::function<void()> again = [&] {
        ranAt.push_back(now());
        timer.newTimeout(again, 100ms);
    };
    timer.newTimeout(again, 100ms);
    clock.advance(600ms);
    EXPECT_EQ(ranAt, (std::vector<nanoseconds>{200ms, 400ms, 600ms}));
    EXPECT_FALSE(timer.stop().empty());
}

// Netty's case 6: with ticks of 200 ms 100,000 tasks of 125 ms run after 125 to 650 ms.
TEST_F(Netty, ManyTasksRunOnTime) {
    constexpr std::size_t kTasks = 100'000;
    HashedWheelTimer timer{options({.tick = 200ms})};
    std::vector<nanoseconds> delays;
    delays.reserve(kTasks);
    for (std::size_t i = 0; i < kTasks; ++i) {
        nanoseconds const start = now();
        timer.newTimeout([&, start] { delays.push_back(now() - start); }, 125ms);
        if (i % 10'000 == 9'999) clock.advance(17ms);  // never the same phase
    }
    clock.advance(650ms);
    ASSERT_EQ(delays.size(), kTasks);
    auto const [least, most] = std::minmax_element(delays.begin(), delays.end());
    EXPECT_GE(*least, 125ms);
    EXPECT_LE(*most, 325ms);
    EXPECT_TRUE(timer.stop().empty());
    printFigure("Netty's case 6, manual clock: ", kTasks, " tasks of 125 ms ran after ",
                *least / 1ms, " to ", *most / 1ms, " ms");
}

// Netty's case 7: tasks run on the executor that was given.
TEST_F(Netty, TasksRunOnTheExecutor) {
    constexpr int kTasks = 10;
    ThreadExecutor executor;
    HashedWheelTimer timer{options({.executor = executor})};
    HashedWheelTimer inlineTimer{options()};
    std::thread::id worker;
    std::vector<std::thread::id> ranOn;
    inlineTimer.newTimeout([&] { worker = std::this_thread::get_id(); }, 1ms);
    for (int i = 0; i < kTasks; ++i)
        timer.newTimeout([&] { ranOn.push_back(std::this_thread::get_id()); }, 1ms);
    clock.advance(100ms);
    ASSERT_EQ(ranOn.size(), std::size_t{kTasks});
    EXPECT_EQ(std::count(ranOn.begin(), ranOn.end(), ranOn.front()), kTasks);
    EXPECT_NE(ranOn.front(), std::this_thread::get_id());
    EXPECT_NE(worker, std::thread::id{});
    EXPECT_NE(ranOn.front(), worker);
    EXPECT_TRUE(timer.stop().empty());
    EXPECT_TRUE(inlineTimer.stop().empty());
}

// Netty's case 8: with a limit of two the third is refused.
TEST_F(Netty, ThrowsWhenTheLimitOfPendingTimeoutsIsReached) {
    HashedWheelTimer timer{options({.maxPendingTimeouts = 2})};
    timer.newTimeout([] {}, 5s);
    timer.newTimeout([] {}, 5s);
    EXPECT_THROW(timer.newTimeout([] {}, 1ms), RejectedExecution);
    EXPECT_EQ(timer.pendingTimeouts(), 2U);
    EXPECT_EQ(timer.stop().size(), 2U);
}

// Netty's case 9: when one of the two was cancelled, five ticks later a third is accepted.
TEST_F(Netty, AcceptsAgainWhenAPendingTimeoutWasCancelled) {
    HashedWheelTimer timer{options({.maxPendingTimeouts = 2})};
    timer.newTimeout([] {}, 5s);
    Timeout const cancelled = timer.newTimeout([] {}, 5s);
    EXPECT_TRUE(cancelled.cancel());
    clock.advance(5 * timer.tick());
    int runs = 0;
    timer.newTimeout([&] { ++runs; }, 1ms);
    clock.advance(100ms);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(timer.stop().size(), 1U);
}

// Netty's case 10: right after one has run another is accepted, and runs.
TEST_F(Netty, AcceptsAgainWhenAPendingTimeoutHasRun) {
    HashedWheelTimer timer{options({.tick = 25ms, .ticksPerWheel = 4, .maxPendingTimeouts = 2})};
    timer.newTimeout([] {}, 5s);
    int runs = 0;
    timer.newTimeout([&] { ++runs; }, 90ms);
    EXPECT_THROW(timer.newTimeout([] {}, 90ms), RejectedExecution);
    clock.advance(100ms);
    EXPECT_EQ(runs, 1);
    timer.newTimeout([&] { ++runs; }, 90ms);
    clock.advance(100ms);
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(timer.stop().size(), 1U);
}

// Netty's case 11: the count is right, also inside the task that is the last.
TEST_F(Netty, CountsPendingTimeouts) {
    HashedWheelTimer timer{options()};
    std::size_t inside = 99;
    Timeout const a = timer.newTimeout([] {}, std::chrono::minutes{100});
    Timeout const b = timer.newTimeout([] {}, std::chrono::minutes{100});
    timer.newTimeout([&] { inside = timer.pendingTimeouts(); }, 90ms);
    EXPECT_EQ(timer.pendingTimeouts(), 3U);
    EXPECT_TRUE(a.cancel());
    EXPECT_TRUE(b.cancel());
    EXPECT_EQ(timer.pendingTimeouts(), 3U);  // until the tick
    clock.advance(100ms);
    EXPECT_EQ(inside, 0U);
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
}

// Netty's case 12: a delay that overflows is no short one.
TEST_F(Netty, ADelayThatOverflowsDoesNotRunSoon) {
    HashedWheelTimer timer{options()};
    constexpr std::chrono::milliseconds kLongest{std::numeric_limits<std::int64_t>::max()};
    int runs = 0;
    Timeout const t = timer.newTimeout([&] { ++runs; }, kLongest);
    clock.advance(1s);
    EXPECT_EQ(runs, 0);
    EXPECT_TRUE(t.isPending());
    EXPECT_EQ(t.deadline(), Clock::TimePoint::max());
    EXPECT_EQ(timer.stop().size(), 1U);
}

// Netty's case 13: what stop() returns is cancelled.
TEST_F(Netty, StopCancelsWhatIsPending) {
    HashedWheelTimer timer{options()};
    int runs = 0;
    for (int i = 0; i < 5; ++i) timer.newTimeout([&] { ++runs; }, 5s);
    clock.advance(1s);
    StoppedTimeouts const stopped = timer.stop();
    EXPECT_EQ(stopped.size(), 5U);
    for (StoppedTimeout const& one : stopped) EXPECT_TRUE(one.timeout().isCancelled());
    clock.advance(1h);
    EXPECT_EQ(runs, 0);
}

// Netty's case 14, which its file has without the annotation: the task hears that it was cancelled,
// once, and never runs.
TEST_F(Netty, TellsATaskThatItWasCancelled) {
    HashedWheelTimer timer{options()};
    auto const task = std::make_shared<ATask>();
    Timeout const t = timer.newTimeout(task, 2s);
    EXPECT_TRUE(t.cancel());
    clock.advance(3s);
    EXPECT_EQ(task->cancels, 1);
    EXPECT_EQ(task->runs, 0);
    EXPECT_EQ(task->last, t);
}

// Netty's case 15: ten are cancelled while a task of the same tick blocks; none is left in the
// count.
TEST_F(Netty, CountsRightWhenTimeoutsAreCancelledWithinTheirTick) {
    HashedWheelTimer timer{options()};
    Latch entered;
    Latch leave;
    std::atomic<int> runs{0};
    timer.newTimeout(
        [&] {
            entered.open();
            leave.wait();
        },
        200ms);
    std::vector<Timeout> timeouts;
    for (int i = 0; i < 10; ++i) timeouts.push_back(timer.newTimeout([&] { ++runs; }, 200ms));
    {
        Mover const mover{clock, 500ms};
        entered.wait();
        for (Timeout const& t : timeouts) EXPECT_TRUE(t.cancel());
        leave.open();
    }
    EXPECT_EQ(timer.pendingTimeouts(), 0U);
    EXPECT_EQ(runs, 0);
    EXPECT_TRUE(timer.stop().empty());
}

}  // namespace
}  // namespace timingwheel::test
