#include "core/driver/keeper/Keeper.h"

#include "core/driver/run/RunFrame.h"
#include "core/driver/run/TaskEnd.h"
#include "core/timeout/TimeoutWord.h"

#include <vector>

namespace timingwheel::inline v1::detail {

namespace {

Lock::Kind lockOf(DrivenBy driver) noexcept {
    switch (driver) {
        case DrivenBy::caller:
            return Lock::Kind::none;
        case DrivenBy::loop:
            return Lock::Kind::biased;
        case DrivenBy::thread:
            break;
    }
    return Lock::Kind::mutex;
}

}  // namespace

Keeper::Keeper(TimerContext& context, std::uint32_t number)
    : context_{context},
      owedAtLeast_{context.isObserved() ? Hold::kOnlyToObserver : Hold::kNothing},
      lock_{lockOf(context.drivenBy)},
      tasks_{EventLog{context.options.observer, context.clock, number}} {}

// ---- for handles ------------------------------------------------------------------------------

void Keeper::waitForRun(TimeoutEntry const& entry) {
    Hold hold{*this};
    RunningTasks const& running = hold.tasks().running;
    void const* const self = RunFrame::thisThread();
    // Do not wait for runs that begin meanwhile: a task that runs again and again has no last one.
    std::uint64_t const upTo = running.runs();
    if (running.runsElsewhere(entry, upTo, self))
        hold.waitForRuns([&] { return !running.runsElsewhere(entry, upTo, self); });
}

std::shared_ptr<TimerTask> Keeper::sharedTask(TimeoutNode& node) {
    if (node.task().shared == nullptr) return nullptr;
    Hold const hold{*this};
    TimeoutState const state = TimeoutWord::of(node).state();
    if (!isPending(state) && state != TimeoutState::handedOver && state != TimeoutState::running)
        return nullptr;
    return node.task().shared(node.taskAddress());
}

/// The caller's handle may die in the user's code, or not be one of those that were counted when
/// another handle went: so this counts the reference down.
void Keeper::endCancelledAndCount(TimeoutNode& node) const noexcept {
    endCancelledTask(context_, node);
    release(node);
}

// ---- memory -----------------------------------------------------------------------------------

void Keeper::discard(TimerContext const& context, TimeoutNode& node) noexcept {
    destroyTask(context, node);
    release(node);
}

/// Without the lock: stop() is over, after which nobody makes shares.
void Keeper::orphan() noexcept {
    if (droppedShares_.orphan(tasks_.madeShares)) context_.release();
}

// ---- what a hold owes -------------------------------------------------------------------------

/// Out of line, so that a hold that owes nothing pays one comparison.
void Hold::unlockAndPay(TimeoutNode* ended) noexcept {
    std::int64_t const ring = std::exchange(owed_, keeper_.owedAtLeast_);
    if (tasks().events.empty())
        unlockAndRing(ring);
    else
        unlockRingAndDeliver(ring);
    release(ended);
}

/// The driver may come at any time, and a hook's task destroy the timer: so this keeps the alarm.
void Hold::unlockAndRing(std::int64_t tick) noexcept {
    if (tick >= kOnlyToObserver) return keeper_.lock_.unlock();
    makeShare();
    ++owedShares_;
    keeper_.lock_.unlock();
    context().alarm.ring(Tick{tick});
}

/// The observer may be destroyed once the timer has stopped, so a frame stands for the delivery:
/// stop() waits for it.
void Hold::unlockRingAndDeliver(std::int64_t tick) noexcept {
    RunFrame frame{context()};
    tasks().running.add(frame);
    std::vector<TimerEvent> const events = tasks().events.takeAll();
    unlockAndRing(tick);
    for (TimerEvent const& event : events) context().options.observer->onEvent(event);
    keeper_.lock_.lock();
    endRun(frame);
    keeper_.lock_.unlock();
}

}  // namespace timingwheel::inline v1::detail
