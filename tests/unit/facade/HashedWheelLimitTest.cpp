// The limit of pending timeouts of a HashedWheelTimer.

#include <support/HashedWheel.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

// Shows G18.

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

using HashedWheelLimit = OfHashedWheel;

// G18
TEST_F(HashedWheelLimit, IsExactAndNamesValueAndBound) {
    HashedWheelTimer timer{options({.name = "small", .maxPendingTimeouts = 10})};
    auto const witness = std::make_shared<int>();
    for (int i = 0; i < 10; ++i) timer.newTimeout([] {}, 1h);
    for (int i = 0; i < 5; ++i) {
        auto const schedule = [&] { timer.newTimeout([witness] {}, 1h); };
        expectThrows<RejectedExecution>(schedule, "timer \"small\": 10 timeouts are pending");
        expectThrows<RejectedExecution>(schedule, "maxPendingTimeouts is 10");
        EXPECT_EQ(timer.pendingTimeouts(), 10U);
    }
    EXPECT_EQ(witness.use_count(), 1);
    EXPECT_EQ(timer.statistics().refused, 10U);
    EXPECT_EQ(timer.statistics().scheduled, 10U);
}

// G18
TEST_F(HashedWheelLimit, IsExactWhenManyThreadsSchedule) {
    constexpr std::size_t kLimit = 500;
    HashedWheelTimer timer{options({.maxPendingTimeouts = kLimit})};
    for (int round = 0; round < 3; ++round) {
        std::atomic<std::size_t> accepted{0};
        std::atomic<std::size_t> above{0};
        together(8, [&](std::size_t) {
            for (std::size_t i = 0; i < kLimit; ++i) {
                try {
                    timer.newTimeout([] {}, 50ms);
                    ++accepted;
                } catch (RejectedExecution const&) {
                }
                if (timer.pendingTimeouts() > kLimit) ++above;
            }
        });
        EXPECT_EQ(accepted, kLimit);
        EXPECT_EQ(above, 0U);
        EXPECT_EQ(timer.pendingTimeouts(), kLimit);
        clock.advance(200ms);
        EXPECT_EQ(timer.pendingTimeouts(), 0U);
    }
}

// A task that runs no longer counts; one that was cancelled does until the next tick.
TEST_F(HashedWheelLimit, IsReleasedByARunAndByACancel) {
    HashedWheelTimer timer{options({.maxPendingTimeouts = 1})};
    int runs = 0;
    std::function<void()> const again = [&] {
        if (++runs < 50) timer.newTimeout(again, 0ms);
    };
    timer.newTimeout(again, 0ms);
    clock.advance(10s);
    EXPECT_EQ(runs, 50);
    EXPECT_EQ(failures.count(), 0U);

    Timeout const cancelled = timer.newTimeout([] {}, 1h);
    EXPECT_TRUE(cancelled.cancel());
    auto const refused = [&] { timer.newTimeout([] {}, 1h); };
    expectThrows<RejectedExecution>(refused, ": 1 timeout is pending: maxPendingTimeouts is 1");
    clock.advance(100ms);
    EXPECT_TRUE(timer.newTimeout([] {}, 1h).isPending());
}

}  // namespace
}  // namespace timingwheel::test
