#include "core/driver/keeper/Runner.h"

#include "core/base/platform/Probe.h"
#include "core/driver/run/TaskEnd.h"
#include "core/timeout/TimeoutWord.h"

#include <exception>
#include <utility>

namespace timingwheel::inline v1::detail {

void Runner::begin(TimeoutEntry& entry) noexcept {
    frame_.entry = &entry;
    hold_.tasks().running.add(frame_);
}

void Runner::runOnce(TimeoutEntry& entry) noexcept {
    TimerContext& context = hold_.context();
    TaskRun run{context, entry};
    begin(entry);
    TimeoutCounters& counters = hold_.tasks().counters;
    ++counters.runs;
    ++counters.fired;
    bool const isLimited = isPending(TimeoutWord::of(entry).state());
    // A hook has ended from here on.
    TimeoutNode* const node = run.node();
    TimeoutState const state = node == nullptr ? TimeoutState::expired : TimeoutState::running;
    TimeoutWord{run.deadline(), state}.storeIn(entry);
    {
        Hold::Released const released{hold_};
        if (isLimited) context.limit.release();
        invoke(run);
        if (node != nullptr) endOnce(run);  // before those who wait for the run are woken
    }
    if (node != nullptr) hold_.releaseLater(*node);  // not before its frame has ended
    hold_.endRun(frame_);
}

void Runner::runChunk(Chunk& chunk) noexcept {
    TimerContext& context = hold_.context();
    frame_.chunk = &chunk;
    hold_.tasks().running.add(frame_);
    TimeoutNode* ended = nullptr;
    {
        Hold::Released const released{hold_};
        for (;;) {
            auto const [entry, isAwaited] = chunk.claim();
            if (entry == nullptr) break;
            TaskRun run{context, *entry};
            TimeoutNode* const node = run.node();
            // At once: a thread that has not got it back waits for this.
            TimeoutState const state =
                node == nullptr ? TimeoutState::expired : TimeoutState::running;
            TimeoutWord{run.deadline(), state}.storeIn(*entry);
            chunk.noteMarked();
            // Threads that waited for the run before have seen its end. So have those that compare
            // addresses: its node may go.
            if (isAwaited) [[unlikely]]
                Hold{hold_.keeper()}.notifyRunEnded();
            if (ended != nullptr) hold_.releaseNow(*std::exchange(ended, nullptr));
            context.limit.release();
            run.invoke(frame_.meter);
            if (node == nullptr) continue;
            endOnce(run);
            ended = node;
        }
    }
    if (ended != nullptr) hold_.releaseLater(*ended);
}

std::optional<NextRun> Runner::runPeriodic(TimeoutNode& node) noexcept {
    TimerContext& context = hold_.context();
    TaskRun run{context, node};
    begin(node);
    TimeoutWord{run.deadline(), TimeoutState::running}.storeIn(node);
    if (node.periodicity().isCorrected &&
        node.periodicity().isLeftOut(run.deadline(), context.now())) [[unlikely]] {
        Hold::Released const released{hold_};
        return nextRun(node, run.deadline(), context.clock.nowOrFrozen());
    }
    node.periodicity().isCorrected = false;
    ++hold_.tasks().counters.runs;
    Hold::Released const released{hold_};
    invoke(run);
    return nextRun(node, run.deadline(), run.ended());
}

/// Outside the lock. The observer receives a run before anything else follows from it, unless the
/// task has destroyed the timer.
void Runner::invoke(TaskRun& run) noexcept {
    run.invoke(frame_.meter);
    TimerContext const& context = hold_.context();
    if (!context.isObserved() || context.hasStopped()) [[likely]]
        return;
    Hold const hold{hold_.keeper()};
    EventLog& events = hold.tasks().events;
    events.record(run.event(events.shard()));
}

std::optional<NextRun> Runner::nextRun(TimeoutNode& node, Tick deadline,
                                       Clock::TimePoint ended) noexcept {
    TimerContext const& context = hold_.context();
    if (TimeoutWord::of(node).state() != TimeoutState::running) return std::nullopt;
    if (context.hasStopped()) return NextRun{};  // the task has destroyed its timer
    try {
        return node.nextRun(context.scale, deadline, ended, context.clock.mayGoBack());
    } catch (...) {
        reportFailure(context, TaskSubject{node}, TaskFailure::Kind::noNextTime,
                      std::current_exception());
        return std::nullopt;
    }
}

void Runner::endOnce(TaskRun const& run) noexcept {
    TimeoutNode& node = *run.node();
    TimeoutWord const expired{run.deadline(), TimeoutState::expired};
    if (node.task().shared == nullptr) {
        expired.storeIn(node);
    } else {
        // Keeper::sharedTask reads the state under the lock before it copies the task.
        Hold const hold{hold_.keeper()};
        expired.storeIn(node);
    }
    destroyTask(hold_.context(), node);
}

/// An observer receives a run for each period, so the last run does not mark the end: a cancel
/// does.
void Runner::endPeriodic(TimeoutNode& node) noexcept {
    TimerContext& context = hold_.context();
    TIMINGWHEEL_PROBE_1(cancel, &node);
    if (context.isObserved() && !context.hasStopped()) [[unlikely]]
        hold_.tasks().events.record(TimerEvent::Stage::cancel, node);
    if (TimeoutWord const word = TimeoutWord::of(node); word.state() == TimeoutState::running)
        TimeoutWord{word.deadline(), TimeoutState::expired}.storeIn(node);
    {
        Hold::Released const released{hold_};
        context.limit.release();
        if (TimeoutWord::of(node).state() == TimeoutState::cancelled) callCancelled(context, node);
        destroyTask(context, node);
    }
    hold_.releaseLater(node);
}

bool Runner::returnTo(StoppedTimeouts& stopped, Hold& hold, TimeoutEntry& entry) noexcept {
    TimeoutWord word = TimeoutWord::of(entry);
    // Push-backs and a flat timer's cancel() take no lock, so the word may still change.
    do {
        if (isCancelled(word.state())) return false;
    } while (!TimeoutWord{word.deadline(), TimeoutState::returned}.replace(entry, word));
    TaskBook& tasks = hold.tasks();
    ++tasks.counters.returned;
    TIMINGWHEEL_PROBE_1(cancel, &entry);
    if (tasks.events.isObserved()) [[unlikely]]
        tasks.events.record(TimerEvent::Stage::cancel, entry);
    if (word.state() != TimeoutState::handedOver) hold.context().limit.release();
    if (entry.isHook())
        stopped.addHook();
    else
        stopped.add(static_cast<TimeoutNode&>(entry));
    return true;
}

}  // namespace timingwheel::inline v1::detail
