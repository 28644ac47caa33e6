#pragma once

#include <timingwheel/Executor.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

/// Executors for tests.
namespace timingwheel::test {

/// Keeps what it is given until the test says what becomes of it. With a ManualClock on a
/// SystemTimer, `advance` would wait for it: use a SettableClock.
class HoldingExecutor {
public:
    void execute(Claim claim) {
        std::lock_guard const lock{mutex_};
        claims_.push_back(std::move(claim));
        changed_.notify_all();
    }
    /// Waits until it holds `count` claims.
    void waitFor(std::size_t count) {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return claims_.size() >= count; });
    }
    std::size_t size() {
        std::lock_guard const lock{mutex_};
        return claims_.size();
    }
    /// The oldest. REQUIRES: it holds one.
    Claim take() {
        std::lock_guard const lock{mutex_};
        Claim claim = std::move(claims_.front());
        claims_.pop_front();
        return claim;
    }
    /// Everything it holds, for the caller to run or to drop.
    std::deque<Claim> takeAll() {
        std::lock_guard const lock{mutex_};
        return std::exchange(claims_, {});
    }
    void runAll() {
        while (size() > 0) take()();
    }
    void dropAll() {
        while (size() > 0) static_cast<void>(take());
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Claim> claims_;
};

/// Threads that run what they are given.
class ThreadExecutor {
public:
    explicit ThreadExecutor(std::size_t threads = 1) {
        for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    }
    ~ThreadExecutor() {
        {
            std::lock_guard const lock{mutex_};
            stopped_ = true;
            changed_.notify_all();
        }
        for (std::thread& thread : threads_) thread.join();
    }
    ThreadExecutor(ThreadExecutor const&) = delete;
    ThreadExecutor& operator=(ThreadExecutor const&) = delete;

    void execute(Claim claim) {
        std::lock_guard const lock{mutex_};
        claims_.push_back(std::move(claim));
        changed_.notify_all();
    }

private:
    void work() {
        std::unique_lock lock{mutex_};
        for (;;) {
            changed_.wait(lock, [this] { return stopped_ || !claims_.empty(); });
            if (claims_.empty()) return;
            {
                Claim claim = std::move(claims_.front());
                claims_.pop_front();
                lock.unlock();
                claim();
            }
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Claim> claims_;
    bool stopped_ = false;
    std::vector<std::thread> threads_;
};

/// Runs a claim before execute() returns.
struct SynchronousExecutor {
    void execute(Claim claim) { claim(); }
};

}  // namespace timingwheel::test
