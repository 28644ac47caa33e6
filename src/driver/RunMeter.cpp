#include "driver/RunMeter.h"

#include "driver/TickScale.h"
#include "driver/TimerContext.h"

#include <algorithm>

namespace timingwheel {
inline namespace v1 {
namespace detail {

namespace {

std::chrono::nanoseconds sinceThen(Clock::TimePoint from, Clock::TimePoint to) noexcept {
    return std::max(std::chrono::nanoseconds{0}, TickScale::between(from, to));
}

}  // namespace

RunMeter::RunMeter(TimerContext& context) noexcept
    : context_{context},
      groups_{!context.isWatched && context.options.executor.isInline() &&
              &context.clock == &Clock::steady()} {}

void RunMeter::start() noexcept {
    started_ = context_.now();
    isUnderWay_ = true;
}

void RunMeter::finish() noexcept {
    if (count_ > 0) endGroup();
    isUnderWay_ = false;
}

/// Its end is the start of the next one.
void RunMeter::endGroup() noexcept {
    Clock::TimePoint const ended = context_.now();
    auto const duration = sinceThen(started_, ended);
    bool const isShort = duration < kShort;
    context_.recorder.ranFor(duration);
    // The first one did begin when the group did.
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
        auto const lateness = sinceThen(context_.scale.timeOf(deadlines_[first]), begun);
        context_.recorder.wasLate(lateness, from - first);
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
