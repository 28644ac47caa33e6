#include "core/driver/Shard.h"
#include "core/timeout/TimeoutWord.h"

#include <timingwheel/TimerHook.h>

namespace timingwheel::inline v1 {

using detail::Shard;
using detail::TimeoutState;
using detail::TimeoutWord;

TimerHookBase::~TimerHookBase() {
    Shard* const shard = Shard::of(entry_);
    if (shard == nullptr) return;
    shard->forget(entry_);
    shard->dropShares();
}

bool TimerHookBase::reschedule(When when, TimeoutOptions options) {
    Shard* const shard = Shard::of(entry_);
    if (shard == nullptr) {
        detail::TimerContext::checkTolerance(options);
        return false;
    }
    detail::TimerContext const& context = shard->context();
    if (when.isTimePoint()) {
        if (options.tolerance.count() == 0)
            return shard->rescheduleAt(entry_, when.timePoint(),
                                       context.intake(when.timePoint(), options));
        // As WheelTimer::reschedule.
        Clock::TimePoint const now = context.clock.callersNowOrFrozen();
        return shard->reschedule(entry_, context.intake(when.timePoint(), now, options), now);
    }
    auto const [now, time] = context.clock.afterOrFrozen(when.delay());
    return shard->reschedule(entry_, context.intake(time, now, options), now);
}

bool TimerHookBase::cancel() noexcept {
    Shard* const shard = Shard::of(entry_);
    return shard != nullptr && shard->cancel(entry_);
}

bool TimerHookBase::cancelAndWait() noexcept {
    Shard* const shard = Shard::of(entry_);
    if (shard == nullptr) return false;
    // Two concurrent runs of the hook that wait for each other would wait for ever.
    if (detail::RunFrame::isRunningHere(entry_)) return shard->cancel(entry_);
    return shard->cancelAndWait(entry_);
}

bool TimerHookBase::isPending() const noexcept {
    return detail::isPending(TimeoutWord::of(entry_).state());
}

Clock::TimePoint TimerHookBase::deadline() const noexcept {
    Shard* const shard = Shard::of(entry_);
    TimeoutWord const word = TimeoutWord::of(entry_);
    // One that was refused has a shard, too.
    if (shard == nullptr || word.state() == TimeoutState::idle) return Clock::TimePoint::max();
    return shard->context().scale.timeOf(word.deadline());
}

}  // namespace timingwheel::inline v1
