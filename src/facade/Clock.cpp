#include "platform/CoarseTime.h"

#include <timingwheel/Clock.h>

#include <condition_variable>
#include <mutex>

namespace timingwheel {
inline namespace v1 {

namespace {

/// Longer waits are cut to this and repeated. So no clock arithmetic in a wait comes near its
/// limits, where some standard libraries return at once.
constexpr std::chrono::hours kLongestWait{1};

class SteadyWaiter final : public Clock::Waiter {
public:
    void waitUntil(Clock::TimePoint until) noexcept override {
        std::unique_lock lock{mutex_};
        if (!isWoken_) wait(lock, until);
        isWoken_ = false;
    }

    void wake() noexcept override {
        {
            std::lock_guard const lock{mutex_};
            isWoken_ = true;
        }
        condition_.notify_one();
    }

private:
    void wait(std::unique_lock<std::mutex>& lock, Clock::TimePoint until) {
        if (until == Clock::TimePoint::max()) return condition_.wait(lock);
        Clock::TimePoint const start = Clock::steady().now();
        bool const isFar = until > start && until - start > kLongestWait;
        condition_.wait_until(lock, isFar ? start + kLongestWait : until);
    }

    std::mutex mutex_;  // protects what follows
    std::condition_variable condition_;
    bool isWoken_ = false;
};

class SteadyClock final : public Clock {
public:
    TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
    TimePoint coarseNow() const noexcept override { return detail::coarseTime(); }
    std::chrono::nanoseconds coarseLag() const noexcept override {
        return 3 * detail::coarseResolution();
    }
    std::unique_ptr<Waiter> makeWaiter() override { return std::make_unique<SteadyWaiter>(); }
};

}  // namespace

Clock::~Clock() = default;

Clock::TimePoint Clock::coarseNow() const noexcept { return now(); }

std::chrono::nanoseconds Clock::coarseLag() const noexcept { return std::chrono::nanoseconds{0}; }

Clock::Waiter::~Waiter() = default;

void Clock::subscribe(std::weak_ptr<ClockListener>) {}

Clock& Clock::steady() noexcept {
    // Never destroyed: static timers may outlive any other static.
    static SteadyClock* const clock = new SteadyClock;
    return *clock;
}

ClockListener::~ClockListener() = default;

}  // namespace v1
}  // namespace timingwheel
