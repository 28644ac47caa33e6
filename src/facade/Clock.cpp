#include <timingwheel/Clock.h>

namespace timingwheel {
inline namespace v1 {

namespace {

/// Waits are cut to this and looked at again: no clock arithmetic in a wait ever comes near its
/// limits, where some standard libraries return at once.
constexpr std::chrono::hours kLongestWait{1};

class SteadyClock final : public Clock {
public:
    TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }

    void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
              TimePoint until) override {
        if (until == TimePoint::max()) return condition.wait(lock);
        TimePoint const start = now();
        bool const isFar = until > start && until - start > kLongestWait;
        condition.wait_until(lock, isFar ? start + kLongestWait : until);
    }
};

}  // namespace

Clock::~Clock() = default;

void Clock::subscribe(std::weak_ptr<ClockListener>) {}

Clock& Clock::steady() noexcept {
    // Never destroyed: static timers may outlive any other static.
    static SteadyClock* const clock = new SteadyClock;
    return *clock;
}

ClockListener::~ClockListener() = default;

}  // namespace v1
}  // namespace timingwheel
