#pragma once

#include <timingwheel/Clock.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

/// How drivers sleep under the clocks of tests.
namespace timingwheel::test {

template <class Wait>
class WaiterThat final : public Clock::Waiter {
public:
    WaiterThat(std::unique_ptr<Clock::Waiter> inner, Wait wait)
        : inner_{std::move(inner)}, wait_{std::move(wait)} {}

    void waitUntil(Clock::TimePoint until) noexcept override { wait_(*inner_, until); }
    void wake() noexcept override { inner_->wake(); }

private:
    std::unique_ptr<Clock::Waiter> const inner_;
    Wait wait_;
};

/// One that waits as `wait(inner, until)` does, where waking `inner` must be enough to wake it.
template <class Wait>
std::unique_ptr<Clock::Waiter> waiterThat(std::unique_ptr<Clock::Waiter> inner, Wait wait) {
    return std::make_unique<WaiterThat<Wait>>(std::move(inner), std::move(wait));
}
/// The same, where `inner` is of the steady clock.
template <class Wait>
std::unique_ptr<Clock::Waiter> waiterThat(Wait wait) {
    return waiterThat(Clock::steady().makeWaiter(), std::move(wait));
}

/// One that sleeps until it is woken, whatever the time. Calls `before(until)` first.
template <class Before>
std::unique_ptr<Clock::Waiter> waiterUntilWoken(Before before) {
    return waiterThat([before](Clock::Waiter& inner, Clock::TimePoint until) {
        before(until);
        inner.waitUntil(Clock::TimePoint::max());
    });
}
inline std::unique_ptr<Clock::Waiter> waiterUntilWoken() {
    return waiterUntilWoken([](Clock::TimePoint) {});
}

/// Those who sleep under a clock: whoever sets the clock has them look again.
///
/// Thread safety  any number of threads
class Sleepers {
public:
    /// One of them, while it lives.
    class Registration {
    public:
        Registration(Sleepers& sleepers, Clock::Waiter& waiter)
            : sleepers_{sleepers}, waiter_{waiter} {
            std::lock_guard const lock{sleepers_.mutex_};
            sleepers_.all_.push_back(&waiter_);
        }
        Registration(Registration const&) = delete;
        Registration& operator=(Registration const&) = delete;
        ~Registration() {
            std::lock_guard const lock{sleepers_.mutex_};
            std::erase(sleepers_.all_, &waiter_);
        }

    private:
        Sleepers& sleepers_;
        Clock::Waiter& waiter_;
    };

    void wake() {
        std::lock_guard const lock{mutex_};
        for (Clock::Waiter* const waiter : all_) waiter->wake();
    }

private:
    std::mutex mutex_;  // protects what follows
    std::vector<Clock::Waiter*> all_;
};

/// A clock under which nobody sleeps: it counts how often somebody would.
class WakefulClock final : public Clock {
public:
    TimePoint now() const noexcept override { return TimePoint{}; }
    std::unique_ptr<Waiter> makeWaiter() override {
        return waiterThat([this](Waiter&, TimePoint) { ++waits; });
    }
    int waits = 0;
};

}  // namespace timingwheel::test
