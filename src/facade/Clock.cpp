#include "platform/CoarseTime.h"
#include "platform/ContinuousTime.h"
#include "platform/Sleeper.h"

#include <timingwheel/Clock.h>

#include <new>

namespace timingwheel {
inline namespace v1 {

namespace {

class SteadyWaiter final : public Clock::Waiter {
public:
    void waitUntil(Clock::TimePoint until) noexcept override { sleeper_.sleepUntil(until); }
    void wake() noexcept override { sleeper_.wake(); }

private:
    detail::Sleeper sleeper_;
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

class ContinuousWaiter final : public Clock::Waiter {
public:
    void waitUntil(Clock::TimePoint until) noexcept override { sleeper_.sleepUntil(until); }
    void wake() noexcept override { sleeper_.wake(); }

private:
    detail::ContinuousSleeper sleeper_;
};

class ContinuousClock final : public Clock {
public:
    ContinuousClock() { detail::ContinuousTime::require(); }

    TimePoint now() const noexcept override { return detail::ContinuousTime::now(); }
    bool countsSuspension() const noexcept override { return true; }
    std::unique_ptr<Waiter> makeWaiter() override { return std::make_unique<ContinuousWaiter>(); }
};

}  // namespace

Clock::~Clock() = default;

Clock::TimePoint Clock::coarseNow() const noexcept { return now(); }

std::chrono::nanoseconds Clock::coarseLag() const noexcept { return std::chrono::nanoseconds{0}; }

bool Clock::countsSuspension() const noexcept { return false; }

Clock::Waiter::~Waiter() = default;

void Clock::subscribe(std::weak_ptr<ClockListener>) {}

Clock& Clock::steady() noexcept {
    // Never destroyed: static timers may outlive any other static.
    static SteadyClock* const clock = new SteadyClock;
    return *clock;
}

Clock& Clock::continuous() {
    // Never destroyed, as above.
    alignas(ContinuousClock) static unsigned char memory[sizeof(ContinuousClock)];
    static ContinuousClock* const clock = new (memory) ContinuousClock;
    return *clock;
}

ClockListener::~ClockListener() = default;

}  // namespace v1
}  // namespace timingwheel
