#pragma once

#include <support/ThreadPool.h>
#include <timingwheel/Executor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

/// Executors for tests.
namespace timingwheel::test {

/// Keeps what it is given until told.
class StashingExecutor {
public:
    void execute(Claim claim) {
        std::lock_guard const lock{mutex_};
        claims_.push_back(std::move(claim));
    }

    std::size_t size() {
        std::lock_guard const lock{mutex_};
        return claims_.size();
    }
    /// Everything it holds, for the caller to run or to drop.
    std::vector<Claim> takeAll() {
        std::lock_guard const lock{mutex_};
        return std::exchange(claims_, {});
    }

private:
    std::mutex mutex_;
    std::vector<Claim> claims_;
};

/// A thread pool that now and then throws, or forgets what it was given.
class FlakyPool {
public:
    FlakyPool(std::size_t threads, std::uint64_t every) : pool_{threads}, every_{every} {}
    ~FlakyPool() { pool_.join(); }
    FlakyPool(FlakyPool const&) = delete;
    FlakyPool& operator=(FlakyPool const&) = delete;

    void execute(Claim claim) {
        std::uint64_t const number = ++given_;
        if (number % (2 * every_) == 0) throw std::runtime_error{"no room"};
        if (number % every_ == 0) return;
        pool_.get_executor().execute(std::move(claim));
    }

private:
    boost::asio::thread_pool pool_;
    std::uint64_t const every_;
    std::atomic<std::uint64_t> given_{0};
};

}  // namespace timingwheel::test
