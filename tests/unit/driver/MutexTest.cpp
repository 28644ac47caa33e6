#include "core/base/platform/ProcessBarrier.h"
#include "core/driver/lock/Mutex.h"

#include <support/Contender.h>
#include <support/Effort.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <mutex>
#include <thread>

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;

class MutexTest : public testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        if (GetParam() && !ProcessBarrier::isAvailable())
            GTEST_SKIP() << "the system has no barrier for all threads";
    }
};
INSTANTIATE_TEST_SUITE_P(, MutexTest, testing::Bool(), [](auto const& info) {
    return info.param ? "WithABarrier" : "WithoutABarrier";
});

TEST_P(MutexTest, IsTakenByOneAtATime) {
    Mutex mutex{GetParam()};
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock());
    mutex.unlock();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

TEST_P(MutexTest, WakesAThreadThatSleeps) {
    Watchdog const watchdog{"a mutex for which another thread sleeps"};
    Mutex mutex{GetParam()};
    Contender other{[&mutex] { std::lock_guard const hold{mutex}; }};
    mutex.lock();
    EXPECT_TRUE(other.hasToWait());
    mutex.unlock();
    other.end();
}

// Bug pattern: the one that was woken forgets the others that sleep.
TEST_P(MutexTest, WakesOneAfterAnother) {
    Watchdog const watchdog{"a mutex for which many sleep"};
    constexpr std::size_t kThreads = 6;
    std::size_t const times = rounds(2'000, 100'000);
    Mutex mutex{GetParam()};
    std::size_t sum = 0;
    together(kThreads, [&](std::size_t thread) {
        for (std::size_t i = 0; i < times; ++i) {
            std::lock_guard const hold{mutex};
            ++sum;
            if (thread == 0 && i % 64 == 0) std::this_thread::yield();  // for longer than they try
        }
    });
    EXPECT_EQ(sum, kThreads * times);
}

}  // namespace
}  // namespace timingwheel::detail
