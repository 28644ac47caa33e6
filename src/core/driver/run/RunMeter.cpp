#include "core/driver/run/RunMeter.h"

#include "core/base/TimeArithmetic.h"
#include "core/driver/context/TimerContext.h"

#include <algorithm>

namespace timingwheel::inline v1::detail {

RunMeter::RunMeter(TimerContext& context) noexcept
    : context_{context},
      groups_{!context.isWatched() && context.options.executor.isInline() &&
              context.clock.neverGoesBack()} {}

void RunMeter::start() noexcept {
    started_ = context_.now();
    isUnderWay_ = true;
}

void RunMeter::finish() noexcept {
    if (count_ > 0) endGroup();
    isUnderWay_ = false;
}

/// The end of a group is the start of the next, so each group costs one reading of the clock.
void RunMeter::endGroup() noexcept {
    Clock::TimePoint const ended = context_.now();
    auto const duration = timeSince(started_, ended);
    bool const isShort = duration < kShort;
    context_.runs.ranFor(duration);
    // Only the first is certain to have begun when the group did.
    std::size_t const certain = isShort ? count_ : 1;
    recordLateness(0, certain, started_);
    recordLateness(certain, count_, ended);
    most_ = isShort ? std::min(2 * most_, kMost) : 1;
    count_ = 0;
    started_ = ended;
}

void RunMeter::recordLateness(std::size_t from, std::size_t to, Clock::TimePoint begun) noexcept {
    while (from < to) {
        std::size_t const first = from;
        while (from < to && deadlines_[from] == deadlines_[first]) ++from;
        auto const lateness = timeSince(context_.scale.timeOf(deadlines_[first]), begun);
        context_.runs.wasLate(lateness, from - first);
    }
}

}  // namespace timingwheel::inline v1::detail
