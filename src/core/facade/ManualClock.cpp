#include "core/base/TimeArithmetic.h"

#include <timingwheel/ManualClock.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace timingwheel::inline v1 {

namespace {

class WaiterUntilWoken final : public Clock::Waiter {
public:
    void waitUntil(Clock::TimePoint) noexcept override {
        steady_->waitUntil(Clock::TimePoint::max());
    }
    void wake() noexcept override { steady_->wake(); }

private:
    std::unique_ptr<Clock::Waiter> const steady_ = Clock::steady().makeWaiter();
};

}  // namespace

ManualClock::ManualClock(TimePoint start, Kind kind) noexcept
    : now_{start.time_since_epoch().count()}, kind_{kind} {}
ManualClock::~ManualClock() = default;

Clock::TimePoint ManualClock::now() const noexcept {
    return TimePoint{std::chrono::nanoseconds{now_.load(std::memory_order_acquire)}};
}

void ManualClock::setNow(TimePoint time) noexcept {
    now_.store(time.time_since_epoch().count(), std::memory_order_release);
}

void ManualClock::advance(Duration duration) {
    refuseInsideTask();
    std::lock_guard const lock{moving_};
    moveTo(detail::timeAfter(now(), duration.nanoseconds()));
}

void ManualClock::advanceTo(TimePoint time) {
    refuseInsideTask();
    std::lock_guard const lock{moving_};
    moveTo(time);
}

void ManualClock::moveTo(TimePoint time) {
    runDue();  // what is due already, perhaps left by a call that failed
    while (now() < time) {
        TimePoint next = time;
        for (auto const& listener : listeners())
            if (auto const expiration = listener->nextExpiration())
                next = std::min(next, *expiration);
        setNow(std::max(next, now()));  // an expiration may have passed: the clock stays then
        runDue();
    }
}

void ManualClock::jump(Duration duration) {
    refuseInsideTask();
    std::lock_guard const lock{moving_};
    setNow(detail::timeAfter(now(), duration.nanoseconds()));
    runDue();
}

void ManualClock::jumpTo(TimePoint time) {
    refuseInsideTask();
    std::lock_guard const lock{moving_};
    setNow(time);
    runDue();
}

std::unique_ptr<Clock::Waiter> ManualClock::makeWaiter() {
    return std::make_unique<WaiterUntilWoken>();
}

void ManualClock::subscribe(std::weak_ptr<ClockListener> listener) {
    std::lock_guard const lock{listenersMutex_};
    std::erase_if(listeners_, [](auto const& known) { return known.expired(); });
    listeners_.push_back(std::move(listener));
}

ManualClock::Listeners ManualClock::listeners() {
    std::lock_guard const lock{listenersMutex_};
    Listeners living;
    for (auto const& known : listeners_)
        if (auto listener = known.lock()) living.push_back(std::move(listener));
    return living;
}

void ManualClock::refuseInsideTask() {
    for (auto const& listener : listeners())
        if (listener->isInsideTask())
            throw std::logic_error{
                "a ManualClock was moved from inside a task of a timer that it drives: it would "
                "wait for that task"};
}

/// A task of one timer may make another timer due, so this goes on until none is. What another
/// timer has given to its executor meanwhile is not due any more: so it also goes on until no
/// timer's thread wakes up, and no timer is made, during a whole round. Look at the wake-ups last:
/// a thread wakes up first, and then takes what is due.
void ManualClock::runDue() {
    struct Known {
        std::shared_ptr<ClockListener> listener;
        std::uint64_t wakeUps;
    };
    bool isDone = false;
    while (!isDone) {
        isDone = true;
        std::vector<Known> before;
        for (auto const& listener : listeners()) {
            before.push_back({listener, listener->wakeUps()});
            listener->runDue();
        }
        for (auto const& listener : listeners()) {
            auto const expiration = listener->nextExpiration();
            bool const isDue = expiration && *expiration <= now();
            auto const known = std::ranges::find(before, listener,
                                                 [](Known const& each) { return each.listener; });
            if (isDue || known == before.end() || known->wakeUps != listener->wakeUps())
                isDone = false;
        }
    }
}

}  // namespace timingwheel::inline v1
