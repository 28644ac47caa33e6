#include "core/flat/HashedWheelCore.h"

#include "core/base/platform/Probe.h"

#include <new>
#include <utility>

namespace timingwheel::inline v1::detail {

HashedWheelCore::HashedWheelCore(TimerOptions timerOptions, HashedWheelOptions wheel,
                                 bool runsDueAtOnce, std::unique_ptr<TaskPool> pool)
    : context_{std::move(timerOptions), DrivenBy::thread, *this},
      life_{context_, *this},
      runsDueAtOnce_{runsDueAtOnce},
      pool_{std::move(pool)},
      worker_{context_, wheel} {
    context_.retain();  // the worker holds a reference until its last entry is gone
    life_.listenToClock();
}

Timeout HashedWheelCore::newTimeout(TaskSource task, When when, TimeoutOptions options) {
    TimerContext::checkTolerance(options);
    if (!worker_.wasOpened()) life_.start();
    // Not earlier: the start sets the time from which ticks count.
    auto const [now, deadline] = context_.clock.after(when);
    TimeoutNode* const node = TimeoutNode::create(task, nullptr);
    Timeout handle = TimeoutAccess::adopt(*node);  // one reference; the other is the worker's
    try {
        if (!scheduleOrRun(*node, now, deadline)) life_.refuseStart();
    } catch (...) {
        Keeper::discard(context_, *node);
        throw;
    }
    return handle;
}

/// False once the timer was stopped.
bool HashedWheelCore::scheduleOrRun(TimeoutNode& node, Clock::TimePoint now,
                                    Clock::TimePoint deadline) {
    if (runsDueAtOnce_ && deadline <= now)
        return worker_.runNow(node, context_.scale.nowToTick(now));
    context_.limit.acquire();
    try {
        Tick const tick = context_.scale.tickAfter(deadline);
        TIMINGWHEEL_PROBE_3(intake, &context_, deadline.time_since_epoch().count(), tick);
        if (worker_.schedule(node, tick, context_.scale.nowToTick(now) + 1)) return true;
    } catch (std::bad_alloc const&) {
        context_.limit.release();
        throw;
    }
    context_.limit.release();
    return false;
}

StoppedTimeouts HashedWheelCore::stop(Lifecycle::Caller caller) {
    if (caller == Lifecycle::Caller::user && isStopped_.exchange(true)) return {};
    return life_.stop(caller);
}

TimerStatistics HashedWheelCore::statistics() {
    TimerStatistics statistics;
    statistics.name = context_.options.name;
    worker_.readInto(statistics);
    context_.runs.readInto(statistics);
    statistics.wakeUps = context_.alarm.wakeUps();
    statistics.refused = context_.limit.refused();
    return statistics;
}

bool HashedWheelCore::findPending(std::size_t part, std::vector<FoundTimeout>& found) {
    found.clear();
    if (part > 0) return false;
    FoundTimeouts all{found, context_.scale};
    worker_.findPending(all);
    all.keepOneOfEach();
    return true;
}

/// As in Netty, ticks count from the start of the thread, not from the constructor.
void HashedWheelCore::prepare() noexcept { context_.scale.startAt(context_.now()); }

void HashedWheelCore::drive() noexcept {
    RunFrame frame{context_};
    while (!life_.isStopRequested()) {
        Tick const next = worker_.nextTick();
        if (next <= context_.tickNow()) {
            worker_.wake(next, frame);
        } else {
            context_.alarm.sleep(next, context_.scale.timeOf(next), [this](Tick tick) {
                return worker_.nextWake() < tick || life_.isStopRequested();
            });
        }
    }
}

void HashedWheelCore::close(StoppedTimeouts&) noexcept { worker_.close(); }

void HashedWheelCore::collect(StoppedTimeouts& stopped) noexcept {
    worker_.collect(stopped);
    // Nothing is submitted any more. The task that destroys the timer may run on one of the pool's
    // threads, or on a caller that runs what did not fit: the pool may be destroyed even so.
    pool_.reset();
}

}  // namespace timingwheel::inline v1::detail
