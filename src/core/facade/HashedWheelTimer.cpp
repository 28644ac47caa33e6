#include "core/base/OptionChecks.h"
#include "core/facade/LiveTimers.h"
#include "core/flat/HashedWheelCore.h"

#include <timingwheel/HashedWheelTimer.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel::inline v1 {

using detail::HashedWheelCore;
using detail::refuseOption;
using detail::requireAtLeast;
using detail::requireAtMost;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

/// Throws std::invalid_argument, in the order of Netty's checks.
void check(HashedWheelTimerOptions const& options) {
    std::int64_t const tick = options.tick.count();
    std::int64_t const slots = options.ticksPerWheel;
    if (options.clock.get().kind() == Clock::Kind::wall)
        refuseOption("clock", "a wall clock",
                     "one that nobody sets: a flat wheel does not turn back");
    requireAtLeast("tick", tick, 1, " ns");
    requireAtLeast("ticksPerWheel", slots, RawHashedWheel::kMinTicksPerWheel);
    if (!options.executor.isInline() && options.taskPool)
        refuseOption("executor", "set and taskPool too", "one of them");
    requireAtMost("ticksPerWheel", slots, RawHashedWheel::kMaxTicksPerWheel);
    auto const rounded =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(slots)));
    std::int64_t const bound = std::numeric_limits<std::int64_t>::max() / rounded;
    if (tick >= bound)
        refuseOption("tick", std::to_string(tick) + " ns",
                     "less than " + std::to_string(bound) +
                         " ns, the longest time divided by ticksPerWheel, " +
                         std::to_string(rounded));
}

/// The options that do not concern the flat wheel.
TimerOptions common(HashedWheelTimerOptions const& options, TaskPool* pool) {
    TimerOptions common;
    common.tick = std::chrono::nanoseconds{std::max(options.tick.count(), kMillisecond)};
    common.name = options.name;
    common.clock = options.clock;
    common.executor = pool == nullptr ? options.executor : Executor{*pool};
    // This timer always counts what is pending, as Netty does, so it always has a limit.
    common.maxPendingTimeouts = options.maxPendingTimeouts == 0
                                    ? std::numeric_limits<std::size_t>::max()
                                    : options.maxPendingTimeouts;
    common.threadFactory = options.threadFactory;
    common.errorHandler = options.errorHandler;
    common.slowTaskThreshold = options.slowTaskThreshold;
    common.slowTaskHandler = options.slowTaskHandler;
    common.observer = options.observer;
    return common;
}

HashedWheelCore* makeCore(HashedWheelTimerOptions const& options) {
    check(options);
    auto pool = options.taskPool ? std::make_unique<TaskPool>(*options.taskPool) : nullptr;
    TimerOptions timerOptions = common(options, pool.get());
    return new HashedWheelCore{std::move(timerOptions),
                               HashedWheelOptions{.ticksPerWheel = options.ticksPerWheel},
                               options.immediateIfDue, std::move(pool)};
}

}  // namespace

HashedWheelTimer::HashedWheelTimer() : HashedWheelTimer{HashedWheelTimerOptions{}} {}

HashedWheelTimer::HashedWheelTimer(Duration tick, std::int64_t ticksPerWheel)
    : HashedWheelTimer{HashedWheelTimerOptions{.tick = tick, .ticksPerWheel = ticksPerWheel}} {}

HashedWheelTimerOptions HashedWheelTimer::optionsOf(ThreadFactory threadFactory, Duration tick,
                                                    std::int64_t ticksPerWheel, bool leakDetection,
                                                    std::int64_t maxPendingTimeouts,
                                                    Executor executor) {
    if (!threadFactory) refuseOption("threadFactory", "empty", "one that makes a thread");
    HashedWheelTimerOptions options;
    options.threadFactory = std::move(threadFactory);
    options.tick = tick;
    options.ticksPerWheel = ticksPerWheel;
    options.leakDetection = leakDetection;
    options.maxPendingTimeouts =
        maxPendingTimeouts > 0 ? static_cast<std::size_t>(maxPendingTimeouts) : 0;
    options.executor = executor;
    return options;
}

HashedWheelTimer::HashedWheelTimer(HashedWheelTimerOptions options) : core_{makeCore(options)} {
    try {
        live_ = std::make_unique<detail::LiveTimer>(options.name, options.logger,
                                                    options.leakDetection);
        if (options.tick.count() < kMillisecond)
            live_->log(TimerLog::Level::warning, "tick is " + std::to_string(options.tick.count()) +
                                                     " ns: using the minimum, 1 ms");
    } catch (...) {
        if (live_ != nullptr) live_->stopped();  // what was never made is no leak
        core_->life().disown();
        throw;
    }
    core_->context().owner.store(this, std::memory_order_release);
}

HashedWheelTimer::~HashedWheelTimer() {
    static_cast<void>(core_->stop(detail::Lifecycle::Caller::destructor));
    live_.reset();
    core_->life().disown();
}

void HashedWheelTimer::start() { core_->life().start(); }

StoppedTimeouts HashedWheelTimer::stop() {
    core_->life().refuseInside("stop()");
    live_->stopped();  // first: a task's cancelled() may destroy this
    return core_->stop(detail::Lifecycle::Caller::user);
}

Timeout HashedWheelTimer::accept(detail::TaskSource task, When when, TimeoutOptions options) {
    return core_->newTimeout(task, when, options);
}

std::size_t HashedWheelTimer::pendingTimeouts() const { return core_->context().limit.count(); }

bool HashedWheelTimer::findPending(std::size_t part,
                                   std::vector<detail::FoundTimeout>& found) const {
    return core_->findPending(part, found);
}

TimerStatistics HashedWheelTimer::statistics() const { return core_->statistics(); }

Clock& HashedWheelTimer::clock() const noexcept { return core_->context().clock.get(); }

std::string const& HashedWheelTimer::name() const noexcept { return core_->context().options.name; }

std::chrono::nanoseconds HashedWheelTimer::tick() const noexcept {
    return core_->context().scale.tick();
}

std::int64_t HashedWheelTimer::ticksPerWheel() const noexcept { return core_->ticksPerWheel(); }

}  // namespace timingwheel::inline v1
