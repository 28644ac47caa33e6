#include "core/driver/lock/Signal.h"

#include <support/Effort.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <mutex>

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;

TEST(Signal, WakesAllWhoWait) {
    Watchdog const watchdog{"a signal"};
    constexpr std::size_t kWaiters = 3;
    std::mutex mutex;
    Signal signal;
    bool hasHappened = false;
    together(kWaiters + 1, [&](std::size_t thread) {
        if (thread < kWaiters) {
            std::unique_lock lock{mutex};
            ++signal.waiters;
            signal.happened.wait(lock, [&] { return hasHappened; });
            --signal.waiters;
            return;
        }
        waitUntil([&] {
            std::lock_guard const lock{mutex};
            return signal.waiters == kWaiters;
        });
        std::lock_guard const lock{mutex};
        hasHappened = true;
        signal.notify();
    });
    EXPECT_EQ(signal.waiters, 0U);
}

}  // namespace
}  // namespace timingwheel::detail
