#include "driver/HashedWheelCore.h"

#include <stdexcept>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

HashedWheelCore::HashedWheelCore(TimerOptions timerOptions, HashedWheelOptions wheel,
                                 bool runsDueAtOnce, std::unique_ptr<TaskPool> pool)
    : TimerLife{std::move(timerOptions), true},
      runsDueAtOnce_{runsDueAtOnce},
      pool_{std::move(pool)},
      worker_{*this, wheel} {
    retain();  // the worker holds a reference until its last entry is gone
    listenToClock();
}

Timeout HashedWheelCore::newTimeout(TaskSource task, std::chrono::nanoseconds delay) {
    if (!worker_.wasOpened()) start();
    Clock::TimePoint const now = this->now();
    TimeoutNode* const node = TimeoutNode::create(task, nullptr);
    Timeout handle = TimeoutAccess::adopt(*node);  // one reference; the other is the worker's
    try {
        if (!scheduleOrRun(*node, now, delay)) refuseStart();
    } catch (...) {
        destroyTask(*this, *node);
        node->release();
        throw;
    }
    return handle;
}

/// False once the timer was stopped.
bool HashedWheelCore::scheduleOrRun(TimeoutNode& node, Clock::TimePoint now,
                                    std::chrono::nanoseconds delay) {
    if (runsDueAtOnce_ && delay.count() <= 0) return worker_.runNow(node, scale.nowToTick(now));
    Tick const deadline = scale.tickAfter(TickScale::add(now, delay));
    takePlace();
    bool const isAccepted = worker_.schedule(node, deadline, scale.nowToTick(now) + 1);
    if (!isAccepted) givePlace();
    return isAccepted;
}

StoppedTimeouts HashedWheelCore::stop(Caller caller) {
    if (caller == Caller::user) {
        refuseInside("stop()");
        if (isStopped_.exchange(true)) return {};
    }
    return TimerLife::stop(caller);
}

TimerStatistics HashedWheelCore::statistics() {
    TimerStatistics statistics;
    statistics.name = options.name;
    worker_.readInto(statistics);
    recorder.readInto(statistics);
    statistics.wakeUps = alarm.wakeUps();
    statistics.refused = refused.load(std::memory_order_relaxed);
    return statistics;
}

void HashedWheelCore::prepare() noexcept { scale.startAt(now()); }

void HashedWheelCore::drive() noexcept {
    RunFrame frame{*this};
    while (!isStopRequested()) {
        Tick const next = worker_.nextTick();
        if (next <= scale.nowToTick(now())) {
            worker_.walk(next, frame);
        } else {
            alarm.sleep(next, scale.timeOf(next),
                        [this](Tick tick) { return worker_.key() < tick || isStopRequested(); });
        }
    }
}

void HashedWheelCore::close(StoppedTimeouts&) noexcept { worker_.close(); }

void HashedWheelCore::collect(StoppedTimeouts& stopped) noexcept {
    worker_.collect(stopped);
    // Nothing is submitted any more, and the pool may go while one of its threads, or a caller that
    // runs what did not fit, is in the very task that destroys the timer.
    pool_.reset();
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
