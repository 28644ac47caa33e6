#include "core/driver/context/TimerContext.h"

#include "core/base/OptionChecks.h"
#include "core/base/platform/Probe.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace timingwheel::inline v1::detail {

namespace {

// Duration::max() is refused: lengths that overflow saturate to it.
constexpr std::int64_t kLongestTick = Duration::max().count() - 1;
constexpr std::chrono::nanoseconds kLongestSpin = std::chrono::seconds{1};

/// For timers that somebody else drives.
void refuseOptionsOfAThread(TimerOptions const& options, DrivenBy driver) {
    bool const isLoop = driver == DrivenBy::loop;
    std::string const timer = isLoop ? "a LoopTimer" : "a ManualTimer";
    if (!options.executor.isInline())
        refuseOption("executor", "set",
                     "left out, " + timer + " runs tasks in " + (isLoop ? "runDue" : "advanceTo"));
    if (options.threadFactory)
        refuseOption("threadFactory", "set", "left out, " + timer + " has no thread");
    if (options.spin.count() != 0)
        refuseOption("spin", std::to_string(options.spin.count()) + " ns",
                     "0, " + timer + " has no thread");
    if (options.shards > 1)
        refuseOption("shards", std::to_string(options.shards),
                     "0 or 1, " + timer + " has one wheel");
}

TimerOptions checked(TimerOptions options, DrivenBy driver) {
    requireAtLeast("passBudget", options.passBudget.count(), 1, " ns");
    if (driver != DrivenBy::thread)
        refuseOptionsOfAThread(options, driver);
    else if (options.passBudget.count() != Duration::max().count())
        refuseOption("passBudget", std::to_string(options.passBudget.count()) + " ns",
                     "left out, the timer has a thread of its own");
    std::int64_t const tick = options.tick.count();
    requireAtLeast("tick", tick, 1, " ns");
    requireAtMost("tick", tick, kLongestTick, " ns");
    checkThreadName(options.name);
    if (options.shards > TimerContext::kMaxShards || (options.shards & (options.shards - 1)) != 0)
        refuseOption("shards", std::to_string(options.shards),
                     "0 or a power of two up to " + std::to_string(TimerContext::kMaxShards));
    std::int64_t const spin = options.spin.count();
    if (spin < 0 || spin > kLongestSpin.count())
        refuseOption("spin", std::to_string(spin) + " ns", "0 to 1 s");
    if (options.coarseMargin) {
        std::string const margin = std::to_string(options.coarseMargin->count()) + " ns";
        std::chrono::nanoseconds const lag = options.clock.get().coarseLag();
        if (!options.coarseClock)
            refuseOption("coarseMargin", margin, "left out, unless coarseClock is true");
        if (options.coarseMargin->nanoseconds() < lag)
            refuseOption(
                "coarseMargin", margin,
                "at least the clock's coarseLag(), " + std::to_string(lag.count()) + " ns");
    }
    requireAtLeast("slowTaskThreshold", options.slowTaskThreshold.count(), 1, " ns");
    return options;
}

/// Callers count from a coarse reading if that was asked for, or is behind by little.
TimerClock clockOf(TimerOptions const& options) noexcept {
    constexpr int kLagsInATick = 10;
    Clock& clock = options.clock.get();
    std::chrono::nanoseconds const lag = clock.coarseLag();
    bool const isCoarse = options.coarseClock ||
                          (lag.count() > 0 && options.tick.nanoseconds() / kLagsInATick >= lag);
    if (!isCoarse) return {clock, TimerClock::Reading::exact, {}};
    bool const isRecent = &clock == &Clock::steady() && SteadyTime::hasRecent();
    return {clock, isRecent ? TimerClock::Reading::recent : TimerClock::Reading::coarse,
            options.coarseMargin ? options.coarseMargin->nanoseconds() : lag};
}

/// Tick 0 of a timer that is made `now`.
Clock::TimePoint startOf(TimerOptions const& options, Clock::TimePoint now) {
    bool const mayGoBack = options.clock.get().kind() == Clock::Kind::wall;
    constexpr std::int64_t kMostTicks = Tick::kMax / 2;
    if (!options.start) {
        if (!mayGoBack) return now;
        Clock::TimePoint const start = std::min(now, Clock::TimePoint{});
        if (TickScale{start, options.tick.nanoseconds()}.nowToTick(now).value() > kMostTicks)
            refuseOption("tick", std::to_string(options.tick.count()) + " ns",
                         "long enough that at most " + std::to_string(kMostTicks) +
                             " have passed since 1970, unless start is set");
        return start;
    }
    std::string const start = std::to_string(options.start->time_since_epoch().count()) + " ns";
    if (*options.start > now)
        refuseOption(
            "start", start,
            "at most the clock's time, " + std::to_string(now.time_since_epoch().count()) + " ns");
    TickScale const scale{*options.start, options.tick.nanoseconds()};
    if (scale.nowToTick(now).value() > kMostTicks)
        refuseOption("start", start,
                     "at most " + std::to_string(kMostTicks) + " ticks before the clock's time");
    return *options.start;
}

std::size_t shardsFor(TimerOptions const& options, DrivenBy driver) noexcept {
    constexpr std::size_t kPerCore = 4;  // so that two running threads seldom share one
    if (driver != DrivenBy::thread) return 1;
    if (options.shards != 0) return options.shards;
    std::size_t const cores = std::max(1U, std::thread::hardware_concurrency());
    return std::min(std::bit_ceil(cores * kPerCore), TimerContext::kMaxShards);
}

}  // namespace

TimerContext::TimerContext(TimerOptions timerOptions, DrivenBy driver, Whole& whole)
    : options{checked(std::move(timerOptions), driver)},
      drivenBy{driver},
      clock{clockOf(options)},
      scale{startOf(options, clock.now()), options.tick.nanoseconds()},
      isWatched_{options.observer != nullptr ||
                 options.slowTaskThreshold.count() < Duration::max().count()},
      geometry_{options.wheelSize, options.levelSizes},
      descriptor_{driver == DrivenBy::loop ? std::make_unique<LoopDescriptor>(clock) : nullptr},
      alarm{options, driver == DrivenBy::thread, descriptor_.get(), scale},
      pushedBack{shardsFor(options, driver)},
      limit{options.maxPendingTimeouts, options.name},
      reports{options},
      whole_{whole} {}

Tick TimerContext::intake(Clock::TimePoint deadline, TimeoutOptions const& timeout) const {
    Tick const tick = scale.deadlineToTick(deadline);
    TIMINGWHEEL_PROBE_3(intake, this, deadline.time_since_epoch().count(), tick);
    if (timeout.tolerance.count() == 0) [[likely]]
        return tick;
    return withTolerance(tick, timeout);  // apart, so that others save no registers for it
}

void TimerContext::checkTolerance(TimeoutOptions const& timeout) {
    requireAtLeast("tolerance", timeout.tolerance.count(), 0, " ns");
}

Tick TimerContext::withTolerance(Tick tick, TimeoutOptions const& timeout) const {
    checkTolerance(timeout);
    std::int64_t const tolerance = timeout.tolerance.count();
    if (tick == Tick::max()) return tick;
    // The coarsest slot width that fits: a deadline at the start of such a slot needs no cascade
    // from it.
    std::int64_t const ticks = std::min<std::int64_t>(tolerance / scale.tick().count(), Tick::kMax);
    std::int64_t const granularity = geometry_.granularityWithin(ticks);
    std::int64_t const rounded = (tick.value() + granularity - 1) / granularity * granularity;
    // No tolerance turns a deadline into "never".
    bool const isNever =
        rounded >= Tick::kMax || scale.timeOf(Tick{rounded}) == Clock::TimePoint::max();
    return isNever ? tick : Tick{rounded};
}

}  // namespace timingwheel::inline v1::detail
