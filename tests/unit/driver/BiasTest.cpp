#include "core/driver/lock/Bias.h"

#include <support/Effort.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <thread>

// Shows G31.

namespace timingwheel::test {
namespace {

using detail::Bias;
using detail::ProcessBarrier;

/// As a Lock uses it.
class LeaningMutex {
public:
    void lock() {
        if (bias.enter()) return;
        mutex.lock();
        bias.revokeUnlessFavourite();
    }
    void unlock() {
        if (!bias.leave()) mutex.unlock();
    }
    void restore() {
        std::lock_guard const hold{*this};
        bias.restore();
    }

    Bias bias;
    std::mutex mutex;
};

class BiasTest : public testing::Test {
protected:
    void SetUp() override {
        if (!ProcessBarrier::isAvailable())
            GTEST_SKIP() << "the system has no barrier in all threads of a process";
    }
    /// Another thread locks once.
    void lockElsewhere() {
        std::thread{[this] { std::lock_guard const hold{lock}; }}.join();
    }

    LeaningMutex lock;
};

TEST_F(BiasTest, LetsTheFirstThreadThatAsksPassWithoutTheMutex) {
    EXPECT_FALSE(lock.bias.enter());
    lock.restore();
    EXPECT_TRUE(lock.bias.stands());
    std::lock_guard const busy{lock.mutex};
    EXPECT_TRUE(lock.bias.enter());
    EXPECT_TRUE(lock.bias.leave());
}

TEST_F(BiasTest, IsRevokedByAnyOtherThread) {
    lock.restore();
    lockElsewhere();
    EXPECT_FALSE(lock.bias.stands());
    EXPECT_FALSE(lock.bias.enter());
    std::lock_guard const hold{lock};  // with the mutex
    EXPECT_FALSE(lock.mutex.try_lock());
}

// Otherwise threads that come all the time would pay a barrier each time.
TEST_F(BiasTest, IsRestoredOnceNobodyElseHasComeForATurn) {
    lock.restore();
    lockElsewhere();
    lock.restore();
    EXPECT_FALSE(lock.bias.stands());
    lockElsewhere();
    lock.restore();
    EXPECT_FALSE(lock.bias.stands());
    lock.restore();
    EXPECT_TRUE(lock.bias.stands());
}

TEST_F(BiasTest, FavoursNoSecondThread) {
    lock.restore();
    std::thread{[this] {
        for (int i = 0; i < 3; ++i) {
            lock.restore();
            EXPECT_FALSE(lock.bias.stands());
            EXPECT_FALSE(lock.bias.enter());
        }
    }}.join();
    lock.restore();
    lock.restore();
    EXPECT_TRUE(lock.bias.stands());
}

// Bug pattern: the bias is restored while another thread waits for its end.
TEST_F(BiasTest, StaysRevokedWhenTheFavouriteIsInsideMeanwhile) {
    Watchdog const watchdog{"a bias that is revoked"};
    lock.restore();
    lock.lock();
    std::thread other{[this] { std::lock_guard const hold{lock}; }};
    waitUntil([this] { return !lock.bias.stands(); });
    lock.bias.restore();
    EXPECT_FALSE(lock.bias.stands());
    lock.unlock();
    other.join();
}

// Bug pattern: the favourite's word that it is inside is still on its way when another looks.
TEST_F(BiasTest, KeepsOthersOutWhileOneIsIn) {
    Watchdog const watchdog{"a biased mutex"};
    std::uint64_t const turns = rounds(20'000, 2'000'000);
    constexpr std::size_t kOthers = 2;
    constexpr std::uint64_t kOwn = 16;  // for each turn of another thread
    std::uint64_t sum = 0;
    std::uint64_t passed = 0;
    together(kOthers + 1, [&](std::size_t thread) {
        for (std::uint64_t i = 0; i < turns; ++i) {
            if (thread != 0) {
                std::lock_guard const hold{lock};
                ++sum;
                continue;
            }
            lock.restore();
            for (std::uint64_t own = 0; own < kOwn; ++own) {
                std::lock_guard const hold{lock};
                ++sum;
                if (lock.bias.stands()) ++passed;
            }
        }
    });
    EXPECT_EQ(sum, turns * (kOwn + kOthers));
    EXPECT_GT(passed, 0U);
}

}  // namespace
}  // namespace timingwheel::test
