#include "core/base/platform/ProcessBarrier.h"
#include "core/driver/lock/Lock.h"

#include <support/Contender.h>
#include <support/Effort.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <mutex>
#include <thread>

// Shows G31.

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;

/// From now on this thread passes it without the mutex, where the system lets it.
void favour(Lock& lock) {
    std::lock_guard const hold{lock};
    lock.favourThisThread();
}

TEST(Lock, KeepsOthersOut) {
    Watchdog const watchdog{"a lock"};
    for (Lock::Kind const kind : {Lock::Kind::mutex, Lock::Kind::biased}) {
        Lock lock{kind};
        Contender other{[&lock] { std::lock_guard const hold{lock}; }};
        lock.lock();
        EXPECT_TRUE(other.hasToWait());
        lock.unlock();
        other.end();
    }
}

// The favoured thread has not taken the mutex.
TEST(Lock, KeepsOthersOutWhileItLeans) {
    Watchdog const watchdog{"a biased lock"};
    Lock lock{Lock::Kind::biased};
    Contender other{[&lock] { std::lock_guard const hold{lock}; }};
    favour(lock);
    lock.lock();
    EXPECT_EQ(lock.isBiased(), ProcessBarrier::isAvailable());
    EXPECT_TRUE(other.hasToWait());
    lock.unlock();
    other.end();
    EXPECT_FALSE(lock.isBiased());
}

TEST(Lock, KeepsNobodyOutIfItIsNone) {
    Lock lock{Lock::Kind::none};
    lock.lock();
    std::thread{[&lock] { std::lock_guard const hold{lock}; }}.join();
    lock.unlock();
}

TEST(Lock, WaitsForASignal) {
    Watchdog const watchdog{"a lock that waits"};
    for (Lock::Kind const kind : {Lock::Kind::mutex, Lock::Kind::biased}) {
        Lock lock{kind};
        Signal signal;
        bool hasHappened = false;
        Contender other{[&lock] { std::lock_guard const hold{lock}; }};
        together(2, [&](std::size_t thread) {
            if (thread == 0) {
                std::lock_guard const hold{lock};
                lock.wait(signal, [&hasHappened] { return hasHappened; });
                EXPECT_TRUE(other.hasToWait());
                return;
            }
            waitUntil([&] {
                std::lock_guard const hold{lock};
                return signal.waiters == 1;
            });
            std::lock_guard const hold{lock};
            hasHappened = true;
            signal.notify();
        });
        other.end();
        EXPECT_EQ(signal.waiters, 0U);
    }
}

// Bug pattern: it waits without the mutex, which it has not taken, and misses the signal.
TEST(Lock, TheThreadThatItLeansToWaitsForASignalAsWell) {
    Watchdog const watchdog{"a biased lock, and a wait"};
    Lock lock{Lock::Kind::biased};
    Signal signal;
    bool hasHappened = false;
    favour(lock);
    lock.lock();
    EXPECT_EQ(lock.isBiased(), ProcessBarrier::isAvailable());
    std::thread other{[&] {
        waitUntil([&] {
            std::lock_guard const hold{lock};
            return signal.waiters == 1;
        });
        std::lock_guard const hold{lock};
        hasHappened = true;
        signal.notify();
    }};
    lock.wait(signal, [&hasHappened] { return hasHappened; });
    EXPECT_FALSE(lock.isBiased());
    lock.unlock();
    other.join();
}

// A thread that waits for a condition goes on in its own hold.
TEST(Lock, LeansToNoThreadWhileAnotherWaits) {
    Watchdog const watchdog{"a lock for which another waits"};
    Lock lock{Lock::Kind::biased};
    for (int times = 0; times < 2; ++times) {
        Signal signal;
        bool hasHappened = false;
        std::thread other{[&] {
            std::lock_guard const hold{lock};
            lock.wait(signal, [&hasHappened] { return hasHappened; });
        }};
        waitUntil([&] {
            std::lock_guard const hold{lock};
            return signal.waiters == 1;
        });
        {
            std::lock_guard const hold{lock};
            lock.favourThisThread();
            EXPECT_FALSE(lock.isBiased());
            hasHappened = true;
            signal.notify();
        }
        other.join();
    }
    favour(lock);
    EXPECT_EQ(lock.isBiased(), ProcessBarrier::isAvailable());
}

}  // namespace
}  // namespace timingwheel::detail
