#include "base/OptionChecks.h"
#include "driver/TimerCore.h"

#include <timingwheel/WheelTimer.h>
#include <timingwheel/detail/platform/Prefetch.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel {
inline namespace v1 {

using detail::TimerCore;

WheelTimer::WheelTimer(TimerOptions options, Threading threading)
    : core_{new TimerCore{std::move(options), threading == Threading::driverThread}} {
    core_->context().owner.store(this, std::memory_order_release);
}

WheelTimer::~WheelTimer() { core_->life().disown(); }

Timeout WheelTimer::accept(detail::TaskSource task, Duration delay) {
    return acceptAfter(task, delay, {});
}

Timeout WheelTimer::acceptAfter(detail::TaskSource task, Duration delay, TimeoutOptions options) {
    TimePoint const now = core_->context().now();
    return core_->newTimeout(task, detail::timeAfter(now, delay.nanoseconds()), now, options,
                             nullptr);
}

Timeout WheelTimer::acceptAt(detail::TaskSource task, TimePoint deadline, TimeoutOptions options) {
    return core_->newTimeout(task, deadline, core_->context().now(), options, nullptr);
}

Timeout WheelTimer::acceptPeriodic(detail::TaskSource task, Duration first, Duration period,
                                   bool fixedDelay, MissedTicks missed) {
    if (period.nanoseconds() < core_->context().scale.tick())
        detail::refuseOption(
            "period", std::to_string(period.count()) + " ns",
            "at least one tick, " + std::to_string(core_->context().scale.tick().count()) + " ns");
    TimePoint const now = core_->context().now();
    TimePoint const deadline = detail::timeAfter(now, first.nanoseconds());
    detail::Periodicity const periodicity{period.nanoseconds(), fixedDelay, missed, deadline};
    return core_->newTimeout(task, deadline, now, {}, &periodicity);
}

void WheelTimer::schedule(TimerHookBase& hook, Duration delay, TimeoutOptions options) {
    TimePoint const now = core_->context().now();
    core_->schedule(hook.entry_, detail::timeAfter(now, delay.nanoseconds()), now, options);
}

void WheelTimer::schedule(TimerHookBase& hook, TimePoint deadline, TimeoutOptions options) {
    core_->schedule(hook.entry_, deadline, core_->context().now(), options);
}

bool WheelTimer::reschedule(Timeout const& timeout, Duration delay, TimeoutOptions options) {
    // The entry comes from memory while the clock is read.
    detail::prefetchToWrite(detail::TimeoutAccess::node(timeout));
    TimePoint const now = core_->context().now();
    return rescheduleTo(timeout, core_->context().intake(
                                     detail::timeAfter(now, delay.nanoseconds()), now, options));
}

bool WheelTimer::reschedule(Timeout const& timeout, TimePoint deadline, TimeoutOptions options) {
    return rescheduleTo(timeout, core_->context().intake(deadline, options));
}

bool WheelTimer::rescheduleTo(Timeout const& timeout, Tick deadline) {
    detail::TimeoutNode* const node = detail::TimeoutAccess::node(timeout);
    if (node == nullptr) return false;
    detail::TimeoutKeeper& keeper = *node->keeper.load(std::memory_order_relaxed);
    if (&keeper.context() != &core_->context())
        throw std::invalid_argument{"the timeout is of another timer: it must be one of timer \"" +
                                    name() + "\""};
    return static_cast<detail::Shard&>(keeper).reschedule(*node, deadline);
}

void WheelTimer::stopForGood() noexcept {
    static_cast<void>(core_->stop(detail::Lifecycle::Caller::destructor));
}

StoppedTimeouts WheelTimer::stop() { return core_->stop(detail::Lifecycle::Caller::user); }

std::size_t WheelTimer::pendingTimeouts() const { return core_->pending(); }

TimerStatistics WheelTimer::statistics() const { return core_->statistics(); }

Clock& WheelTimer::clock() const noexcept { return core_->context().clock.get(); }

std::string const& WheelTimer::name() const noexcept { return core_->context().options.name; }

std::chrono::nanoseconds WheelTimer::tick() const noexcept { return core_->context().scale.tick(); }

void WheelTimer::checkInvariants() const { core_->checkInvariants(); }

}  // namespace v1
}  // namespace timingwheel
