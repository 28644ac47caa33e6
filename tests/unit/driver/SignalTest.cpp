#include "core/driver/lock/Signal.h"

#include <support/Effort.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;

TEST(Signal, WakesAllWhoWait) {
    Watchdog const watchdog{"a signal"};
    constexpr std::size_t kWaiters = 3;
    std::mutex mutex;
    Signal signal;
    std::size_t woken = 0;
    together(kWaiters + 1, [&](std::size_t thread) {
        if (thread < kWaiters) {
            std::unique_lock lock{mutex};
            ++signal.waiters;
            std::uint64_t const times = signal.times();
            lock.unlock();
            signal.await(times);
            lock.lock();
            ++woken;
            return;
        }
        waitUntil([&] {
            std::lock_guard const lock{mutex};
            return signal.waiters == kWaiters;
        });
        std::lock_guard const lock{mutex};
        EXPECT_EQ(woken, 0U);
        signal.notify();
    });
    EXPECT_EQ(woken, kWaiters);
}

// Bug pattern: what happens between the look and the wait is missed.
TEST(Signal, DoesNotWaitForWhatHasHappenedSince) {
    Watchdog const watchdog{"a signal that came before its waiter"};
    Signal signal;
    signal.waiters = 1;
    std::uint64_t const times = signal.times();
    signal.notify();
    signal.await(times);
}

}  // namespace
}  // namespace timingwheel::detail
