// Tasks that are handed to a pool which finds no memory for them.

#include <support/OutOfMemory.h>
#include <support/TestTimers.h>
#include <timingwheel/Duration.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/TaskPool.h>
#include <timingwheel/TimerStatistics.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;
using Repeat = AllocationFailure::Repeat;

/// Tasks go through a pool whose queue finds no memory from the `kth` allocation on, or only then.
/// Each has run or was rejected, and reported. True if an allocation failed.
template <class T>
bool tryPool(WhenFull whenFull, std::size_t kth, Repeat repeat) {
    // Five bursts, each of which fills the queue. It allocates once for some dozens of tasks.
    constexpr std::size_t kTasks = 500;
    ManualClock clock;
    std::atomic<std::size_t> runs{0};
    std::atomic<std::size_t> reported{0};
    auto const witness = std::make_shared<int>();
    TaskPool pool{{.threads = 2, .queueCapacity = 80, .whenFull = whenFull}};
    std::conditional_t<std::is_same_v<T, SystemTimer>, TimerOptions, HashedWheelTimerOptions>
        options;
    options.tick = 1ms;
    options.clock = clock;
    options.executor = pool;
    options.errorHandler = [&](TaskFailure const& failure) {
        reported += failure.kind == TaskFailure::Kind::rejected ? 1U : 0U;
    };
    T timer{options};
    std::vector<Timeout> timeouts;
    for (std::size_t i = 0; i < kTasks; ++i)
        timeouts.push_back(
            timer.newTimeout([&runs, witness] { ++runs; }, static_cast<int>(i / 100) * 1ms));
    clock.advance(Duration{});
    if constexpr (!std::is_same_v<T, SystemTimer>) clock.advance(1ms);  // they are in their slots
    bool happened = false;
    {
        AllocationFailure const failure{kth, repeat, Threads::others};
        clock.advance(10ms);
        happened = failure.happened();
    }
    std::size_t rejected = 0;
    for (Timeout const& each : timeouts) {
        EXPECT_NE(each.isRejected(), each.isDone());
        rejected += each.isRejected() ? 1U : 0U;
    }
    EXPECT_EQ(runs + rejected, kTasks);
    EXPECT_EQ(reported, rejected);
    EXPECT_TRUE(whenFull == WhenFull::reject || happened == (rejected > 0));
    EXPECT_EQ(witness.use_count(), 1);
    TimerStatistics const s = timer.statistics();
    EXPECT_EQ(s.pending, 0U);
    EXPECT_EQ(s.rejected, rejected);
    EXPECT_EQ(s.scheduled, s.fired + s.rejected);
    EXPECT_EQ(pool.queued(), 0U);
    EXPECT_EQ(pool.threads(), 2U);
    Timeout const next = timer.newTimeout([] {}, 0ms);
    clock.advance(1ms);
    EXPECT_TRUE(next.isDone());
    return happened;
}

// G19
TEST(OutOfMemoryPool, RejectsWhatItCannotQueueAndNothingElse) {
    Tried sum;
    for (WhenFull const whenFull : {WhenFull::callerRuns, WhenFull::reject}) {
        sum += failEachAllocation([&](std::size_t kth, Repeat repeat) {
            return tryPool<SystemTimer>(whenFull, kth, repeat);
        });
        sum += failEachAllocation([&](std::size_t kth, Repeat repeat) {
            return tryPool<HashedWheelTimer>(whenFull, kth, repeat);
        });
    }
    figure("G19", "failed allocations of a pool's queue that cost more than that task", sum.wrong,
           exactly(0), {sum.allocations, 20});
    EXPECT_EQ(sum.leaks, 0U);
}

}  // namespace
}  // namespace timingwheel::test
