#include "core/base/RecentTime.h"
#include "core/base/platform/CoarseTime.h"
#include "core/base/platform/ContinuousTime.h"
#include "core/base/platform/Sleeper.h"
#include "core/base/platform/WallTime.h"
#include "core/driver/context/TimerClock.h"

#include <timingwheel/Clock.h>

#include <new>

namespace timingwheel::inline v1 {

namespace {

using detail::SteadyTime;

template <class Sleeper>
class SleepersWaiter final : public Clock::Waiter {
public:
    void waitUntil(Clock::TimePoint until) noexcept override { sleeper_.sleepUntil(until); }
    void wake() noexcept override { sleeper_.wake(); }

private:
    Sleeper sleeper_;
};

class SteadyClock final : public Clock {
public:
    TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
    TimePoint coarseNow() const noexcept override {
        return SteadyTime::hasRecent() ? SteadyTime::recent() : detail::coarseTime();
    }
    std::chrono::nanoseconds coarseLag() const noexcept override {
        return SteadyTime::hasRecent() ? SteadyTime::kLag : 3 * detail::coarseResolution();
    }
    std::unique_ptr<Waiter> makeWaiter() override {
        return std::make_unique<SleepersWaiter<detail::Sleeper>>();
    }
};

class ContinuousClock final : public Clock {
public:
    ContinuousClock() { detail::ContinuousTime::require(); }

    TimePoint now() const noexcept override { return detail::ContinuousTime::now(); }
    Kind kind() const noexcept override { return Kind::continuous; }
    std::unique_ptr<Waiter> makeWaiter() override {
        return std::make_unique<SleepersWaiter<detail::ContinuousSleeper>>();
    }
};

class WallClock final : public Clock {
public:
    TimePoint now() const noexcept override { return detail::WallTime::now(); }
    Kind kind() const noexcept override { return Kind::wall; }
    std::unique_ptr<Waiter> makeWaiter() override {
        return std::make_unique<SleepersWaiter<detail::WallSleeper>>();
    }
};

template <class Kind>
alignas(Kind) unsigned char placeOf[sizeof(Kind)];

/// Never destroyed: static timers may outlive any other static.
template <class Kind>
Clock& theOne() {
    static Kind* const clock = new (placeOf<Kind>) Kind;
    return *clock;
}

template <class Kind>
bool isTheOne(Clock const& clock) noexcept {
    return static_cast<void const*>(&clock) == placeOf<Kind>;
}

}  // namespace

Clock::~Clock() = default;

Clock::TimePoint Clock::coarseNow() const noexcept { return now(); }

std::chrono::nanoseconds Clock::coarseLag() const noexcept { return std::chrono::nanoseconds{0}; }

Clock::Kind Clock::kind() const noexcept { return Kind::steady; }

Clock::Waiter::~Waiter() = default;

void Clock::subscribe(std::weak_ptr<ClockListener>) {}

Clock& Clock::steady() noexcept { return theOne<SteadyClock>(); }

Clock& Clock::continuous() { return theOne<ContinuousClock>(); }

Clock& Clock::wall() noexcept { return theOne<WallClock>(); }

bool detail::neverGoesBack(Clock const& clock) noexcept {
    return isTheOne<SteadyClock>(clock) || isTheOne<ContinuousClock>(clock);
}

ClockListener::~ClockListener() = default;

}  // namespace timingwheel::inline v1
