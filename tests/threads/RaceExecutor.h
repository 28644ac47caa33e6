#pragma once

#include <support/ThreadPool.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/TimerOptions.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <type_traits>

namespace timingwheel::test {

/// Where tasks run. Only a HashedWheelTimer has a pool of its own.
enum class RunsOn { driver, pool, flakyPool, ownPool };

/// The executor for that, and the options of a timer of type `T` that has it.
class RaceExecutor {
public:
    explicit RaceExecutor(RunsOn runsOn) : runsOn_{runsOn} {
        if (runsOn == RunsOn::pool) pool_.emplace(std::size_t{2});
        if (runsOn == RunsOn::flakyPool) flaky_.emplace(2U, 50U);
    }

    template <class T>
    auto options() {
        if constexpr (std::is_same_v<T, HashedWheelTimer>) {
            HashedWheelTimerOptions options{
                .tick = std::chrono::milliseconds{1}, .ticksPerWheel = 4, .leakDetection = false};
            if (runsOn_ == RunsOn::ownPool) options.taskPool.emplace();
            return withExecutor(options);
        } else {
            return withExecutor(TimerOptions{.tick = std::chrono::microseconds{100}});
        }
    }
    char const* name() const noexcept {
        switch (runsOn_) {
            case RunsOn::driver:
                return "inline";
            case RunsOn::pool:
                return "on a pool";
            case RunsOn::flakyPool:
                return "on a pool that refuses some";
            case RunsOn::ownPool:
                return "on a pool of its own";
        }
        return "";
    }

private:
    template <class Options>
    Options withExecutor(Options options) {
        if (pool_) options.executor = *pool_;
        if (flaky_) options.executor = *flaky_;
        return options;
    }

    RunsOn const runsOn_;
    std::optional<boost::asio::thread_pool> pool_;
    std::optional<FlakyPool> flaky_;
};

}  // namespace timingwheel::test
