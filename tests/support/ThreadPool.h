#pragma once

#include <support/Platform.h>
#include <timingwheel/Executor.h>

#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace timingwheel::test {

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
