#include "core/driver/TimeoutKeeper.h"

#include "core/driver/Section.h"
#include "core/driver/run/TaskEnd.h"

namespace timingwheel {
inline namespace v1 {
namespace detail {

TimeoutKeeper::TimeoutKeeper(TimerContext& context, std::uint32_t number)
    : context_{context},
      observer_{context.options.observer},
      owedAtLeast_{isObserved() ? Section::kOnlyToObserver : Section::kNothing},
      number_{number},
      drivenBy_{context.drivenBy} {}

/// The loop's own thread takes the mutex as well while the bias is revoked.
void TimeoutKeeper::lockOfLoop() noexcept {
    if (bias_.enter()) return;
    mutex_.lock();
    bias_.revokeUnlessFavourite();
}

void TimeoutKeeper::unlockOfLoop() noexcept {
    if (!bias_.leave()) mutex_.unlock();
}

// ---- running ----------------------------------------------------------------------------------

void TimeoutKeeper::run(Section& section, RunFrame& frame, TimeoutEntry& entry) {
    TaskRun run{context_, number_, entry};
    frame.entry = &entry;
    running_.add(frame);
    TimeoutNode* const node = run.node();
    if (node != nullptr && node->isPeriodic()) return runPeriodic(section, frame, run);

    ++counters_.runs;
    bool const isLimited = isPending(TimeoutWord::of(entry).state());
    ++counters_.fired;
    // A hook has ended from here on, and is not touched again: its task may destroy it.
    TimeoutState const state = node == nullptr ? TimeoutState::expired : TimeoutState::running;
    TimeoutWord{run.deadline(), state}.storeIn(entry);
    {
        Section::Released const released{section};
        if (isLimited) context_.limit.release();
        run.invoke(frame.meter);
        if (isObserved()) [[unlikely]]
            recordRun(run);
        if (node != nullptr) endOnce(run);  // before those who wait for the run are woken
    }
    if (node != nullptr) section.releaseLater(*node);  // not before its frame has ended
    endFrame(frame);
}

void TimeoutKeeper::runPeriodic(Section& section, RunFrame& frame, TaskRun& run) {
    TimeoutNode& node = *run.node();
    TimeoutWord{run.deadline(), TimeoutState::running}.storeIn(node);
    std::optional<NextRun> next;
    if (node.periodicity().isCorrected &&
        node.periodicity().isLeftOut(run.deadline(), context_.now())) [[unlikely]] {
        Section::Released const released{section};
        next = nextRun(node, run.deadline(), context_.clock.nowOrFrozen());
    } else {
        node.periodicity().isCorrected = false;
        ++counters_.runs;
        Section::Released const released{section};
        run.invoke(frame.meter);
        if (isObserved()) [[unlikely]]
            recordRun(run);
        next = nextRun(node, run.deadline(), run.ended());
    }
    if (!scheduleNextRun(section, node, next)) {
        endPeriodic(section, run);
        section.releaseLater(node);
    }
    endFrame(frame);
}

/// None if the series is over, or was cancelled meanwhile.
std::optional<NextRun> TimeoutKeeper::nextRun(TimeoutNode& node, Tick deadline,
                                              Clock::TimePoint ended) noexcept {
    if (TimeoutWord::of(node).state() != TimeoutState::running) return std::nullopt;
    if (context_.hasStopped()) return NextRun{};  // the task has destroyed its timer: see late_
    try {
        return node.nextRun(context_.scale, deadline, ended, context_.clock.mayGoBack());
    } catch (...) {
        reportFailure(context_, TaskSubject{node}, TaskFailure::Kind::noNextTime,
                      std::current_exception());
        return std::nullopt;
    }
}

/// The observer receives a run before anything else follows from it, unless the task has destroyed
/// the timer.
void TimeoutKeeper::recordRun(TaskRun const& run) noexcept {
    if (context_.hasStopped()) return;
    Section const section{*this};
    record(run.event());
}

bool TimeoutKeeper::scheduleNextRun(Section&, TimeoutNode&,
                                    std::optional<NextRun> const&) noexcept {
    return false;
}

void TimeoutKeeper::endOnce(TaskRun const& run) noexcept {
    TimeoutNode& node = *run.node();
    TimeoutWord const expired{run.deadline(), TimeoutState::expired};
    if (node.task().shared == nullptr) {
        expired.storeIn(node);
    } else {
        // sharedTask() reads the state under the lock before it copies the task.
        Section const section{*this};
        expired.storeIn(node);
    }
    destroyTask(context_, node);
}

/// An observer receives a run for each period, so the last run does not tell it the end: a cancel
/// does.
void TimeoutKeeper::endPeriodic(Section& section, TaskRun const& run) noexcept {
    TimeoutNode& node = *run.node();
    if (isObserved() && !context_.hasStopped()) [[unlikely]]
        record(Stage::cancel, node);
    if (TimeoutWord::of(node).state() == TimeoutState::running)
        TimeoutWord{run.deadline(), TimeoutState::expired}.storeIn(node);

    Section::Released const released{section};
    context_.limit.release();
    if (TimeoutWord::of(node).state() == TimeoutState::cancelled) callCancelled(context_, node);
    destroyTask(context_, node);
}

void TimeoutKeeper::endFrame(RunFrame& frame) noexcept {
    running_.remove(frame);
    runEnded_.notify();
    if (isDrained()) drained_.notify();
}

void TimeoutKeeper::waitForRun(TimeoutEntry const& entry) {
    Section section{*this};
    // Do not wait for runs that begin meanwhile: a task that runs again and again has no last one.
    std::uint64_t const upTo = running_.runs();
    if (running_.runsElsewhere(entry, upTo))
        section.waitFor(runEnded_, [&] { return !running_.runsElsewhere(entry, upTo); });
}

void TimeoutKeeper::endCancelled(TimeoutNode& node) noexcept {
    bool const callsUser = node.callsUserWhenCancelled();
    endCancelledTask(context_, node);
    // In the user's code the caller's handle may have died, so count the reference down.
    if (callsUser) return release(node);
    node.giveUpDriversReference();
}

std::shared_ptr<TimerTask> TimeoutKeeper::sharedTask(TimeoutNode& node) {
    if (node.task().shared == nullptr) return nullptr;
    Section section{*this};
    TimeoutState const state = TimeoutWord::of(node).state();
    if (!isPending(state) && state != TimeoutState::handedOver && state != TimeoutState::running)
        return nullptr;
    return node.task().shared(node.taskAddress());
}

// ---- stopping, looking ------------------------------------------------------------------------

bool TimeoutKeeper::returnTo(StoppedTimeouts& stopped, TimeoutEntry& entry) noexcept {
    bool const isHook = entry.isHook();
    TimeoutWord word = TimeoutWord::of(entry);
    // Push-backs and a flat timer's cancel() take no lock, so the word may still change.
    do {
        if (isCancelled(word.state())) return false;
    } while (!TimeoutWord{word.deadline(), TimeoutState::returned}.replace(entry, word));
    ++counters_.returned;
    if (isObserved()) [[unlikely]]
        record(Stage::cancel, entry);
    if (word.state() != TimeoutState::handedOver) context_.limit.release();
    if (isHook) {
        stopped.addHook();
        keepGivenUp(static_cast<HookEntry&>(entry));
    } else {
        stopped.add(static_cast<TimeoutNode&>(entry));
    }
    return true;
}

void TimeoutKeeper::endGivenUp(RunFrame& frame) noexcept {
    Section section{*this};
    while (!givenUp_.empty()) {
        auto& hook = static_cast<HookEntry&>(givenUp_.takeFirst());
        TaskSubject const subject{hook};
        frame.entry = &hook;  // a destructor on another thread waits for it, as for a run
        running_.add(frame);
        {
            Section::Released const released{section};
            callGivenUp(context_, subject);
        }
        endFrame(frame);
    }
}

// ---- observing --------------------------------------------------------------------------------

// Out of line, so that an operation reserves no stack for an event that nobody observes.

TimerEvent TimeoutKeeper::eventOf(Stage stage, TimeoutEntry const* entry) const noexcept {
    return makeEvent(stage, number_, entry, context_.now());
}

void TimeoutKeeper::record(Stage stage, TimeoutEntry const& entry) noexcept {
    record(eventOf(stage, &entry));
}

// ---- memory -----------------------------------------------------------------------------------

void TimeoutKeeper::release(TimeoutNode& node) noexcept {
    TimeoutKeeper* const keeper = node.keeper.load(std::memory_order_relaxed);
    if (node.release() && keeper != nullptr) keeper->dropShares();
}

void TimeoutKeeper::discard(TimerContext const& context, TimeoutNode& node) noexcept {
    destroyTask(context, node);
    release(node);
}

void TimeoutKeeper::dropShares(std::int64_t count) noexcept {
    if (droppedShares_.drop(count)) context_.release();
}

/// Without the lock: stop() is over, after which nobody makes shares.
void TimeoutKeeper::orphan() noexcept {
    if (droppedShares_.orphan(madeShares_)) context_.release();
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
