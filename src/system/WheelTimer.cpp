#include "driver/TimerCore.h"

#include <timingwheel/WheelTimer.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel {
inline namespace v1 {

using detail::TickScale;
using detail::TimerCore;

WheelTimer::WheelTimer(TimerOptions options, Threading threading)
    : core_{new TimerCore{std::move(options), threading == Threading::driverThread}} {
    core_->owner.store(this, std::memory_order_release);
}

WheelTimer::~WheelTimer() { core_->disown(); }

Timeout WheelTimer::accept(detail::TaskSource task, Duration delay) {
    return acceptAfter(task, delay, {});
}

Timeout WheelTimer::acceptAfter(detail::TaskSource task, Duration delay, TimeoutOptions options) {
    TimePoint const now = core_->now();
    return core_->newTimeout(task, TickScale::add(now, delay.nanoseconds()), now, options, nullptr);
}

Timeout WheelTimer::acceptAt(detail::TaskSource task, TimePoint deadline, TimeoutOptions options) {
    return core_->newTimeout(task, deadline, core_->now(), options, nullptr);
}

Timeout WheelTimer::acceptPeriodic(detail::TaskSource task, Duration first, Duration period,
                                   bool fixedDelay, MissedTicks missed) {
    if (period.nanoseconds() < core_->scale.tick())
        throw std::invalid_argument{"period is " + std::to_string(period.count()) +
                                    " ns: it must be at least one tick, " +
                                    std::to_string(core_->scale.tick().count()) + " ns"};
    TimePoint const now = core_->now();
    TimePoint const deadline = TickScale::add(now, first.nanoseconds());
    detail::Periodicity const periodicity{period.nanoseconds(), fixedDelay, missed, deadline};
    return core_->newTimeout(task, deadline, now, {}, &periodicity);
}

void WheelTimer::schedule(TimerHookBase& hook, Duration delay, TimeoutOptions options) {
    TimePoint const now = core_->now();
    core_->schedule(hook.entry_, TickScale::add(now, delay.nanoseconds()), now, options);
}

void WheelTimer::schedule(TimerHookBase& hook, TimePoint deadline, TimeoutOptions options) {
    core_->schedule(hook.entry_, deadline, core_->now(), options);
}

bool WheelTimer::reschedule(Timeout const& timeout, Duration delay, TimeoutOptions options) {
    // While the clock is read nothing else is waited for: the entry is on its way meanwhile.
    __builtin_prefetch(detail::TimeoutAccess::node(timeout), 1);
    TimePoint const now = core_->now();
    return rescheduleTo(timeout,
                        core_->intake(TickScale::add(now, delay.nanoseconds()), now, options));
}

bool WheelTimer::reschedule(Timeout const& timeout, TimePoint deadline, TimeoutOptions options) {
    return rescheduleTo(timeout, core_->intake(deadline, options));
}

bool WheelTimer::rescheduleTo(Timeout const& timeout, Tick deadline) {
    detail::TimeoutNode* const node = detail::TimeoutAccess::node(timeout);
    if (node == nullptr) return false;
    detail::TimeoutKeeper& keeper = *node->keeper.load(std::memory_order_relaxed);
    if (&keeper.context() != core_)
        throw std::invalid_argument{"the timeout is of another timer: it must be one of timer \"" +
                                    name() + "\""};
    return static_cast<detail::Shard&>(keeper).reschedule(*node, deadline);
}

void WheelTimer::stopForGood() noexcept {
    static_cast<void>(core_->stop(TimerCore::Caller::destructor));
}

StoppedTimeouts WheelTimer::stop() { return core_->stop(TimerCore::Caller::user); }

std::size_t WheelTimer::pendingTimeouts() const { return core_->pending(); }

TimerStatistics WheelTimer::statistics() const { return core_->statistics(); }

Clock& WheelTimer::clock() const noexcept { return core_->clock; }

std::string const& WheelTimer::name() const noexcept { return core_->options.name; }

std::chrono::nanoseconds WheelTimer::tick() const noexcept { return core_->scale.tick(); }

void WheelTimer::checkInvariants() const { core_->checkInvariants(); }

}  // namespace v1
}  // namespace timingwheel
