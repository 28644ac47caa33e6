#include "core/flat/HashedWheelWorker.h"

#include "core/base/platform/Probe.h"
#include "core/driver/keeper/ExecutorClaims.h"
#include "core/driver/keeper/Runner.h"
#include "core/driver/run/TaskEnd.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace timingwheel::inline v1::detail {

namespace {

// The most that stop() takes out of the queue under one lock.
constexpr std::size_t kPerHold = 256;
// The most that pending() looks at under one lock: cells or places of a slot, and slots.
constexpr std::size_t kPerLook = 256;
constexpr std::size_t kSlotsPerLook = 4'096;

/// A cancel() takes no lock. But it does not destroy the task before letCopyEnd().
void addIfPending(FoundTimeouts& found, TimeoutNode& node) noexcept {
    if (isPending(TimeoutWord::of(node).state())) found.add(node);
}

}  // namespace

HashedWheelWorker::HashedWheelWorker(TimerContext& context, HashedWheelOptions options)
    : Keeper{context, 0}, wheel_{options} {}

// ---- for callers ------------------------------------------------------------------------------

bool HashedWheelWorker::schedule(TimeoutNode& node, Tick deadline, Tick nextTick) {
    node.keeper.store(this, std::memory_order_relaxed);
    TimeoutWord{deadline, TimeoutState::pending}.storeIn(node);
    TIMINGWHEEL_PROBE_2(schedule, &node, deadline);
    CellQueue::Added outcome = CellQueue::Added::closed;
    if (context().isObserved()) [[unlikely]]
        outcome = addObserved(node);
    else
        outcome = added_.add(node);
    if (outcome != CellQueue::Added::yes) [[unlikely]] {
        TIMINGWHEEL_PROBE_1(cancel, &node);
        node.keeper.store(nullptr, std::memory_order_relaxed);
        if (outcome == CellQueue::Added::closed) return false;
    }
    ringBy(nextTick);
    if (outcome == CellQueue::Added::noMemory) [[unlikely]]
        throw std::bad_alloc{};  // the worker comes even so: until then all are refused
    return true;
}

/// Observes first, since the worker may have it right after. One that is refused was observed too,
/// so a cancel follows at once. stop() waits for all that.
CellQueue::Added HashedWheelWorker::addObserved(TimeoutNode& node) noexcept {
    RunFrame frame{context()};
    {
        FlatHold const hold{*this};
        if (hold->isClosed) return CellQueue::Added::closed;
        hold.tasks().running.add(frame);
    }
    observe(Stage::schedule, node);
    observe(Stage::intake, node);
    CellQueue::Added const outcome = added_.add(node);
    if (outcome != CellQueue::Added::yes) observe(Stage::cancel, node);
    Hold{*this}.endRun(frame);
    return outcome;
}

/// Wakes the worker by `tick`, unless it comes by then anyway.
void HashedWheelWorker::ringBy(Tick tick) noexcept {
    if (nextWakeWord().lowerBesideOthers(tick)) context().alarm.ring(tick);
}

bool HashedWheelWorker::runNow(TimeoutNode& node, Tick now) {
    RunFrame frame{context()};
    FlatHold hold{*this};
    if (hold->isClosed) return false;
    node.keeper.store(this, std::memory_order_relaxed);
    TaskBook& tasks = hold.tasks();
    ++tasks.madeShares;
    TimeoutWord{now, TimeoutState::handedOver}.storeIn(node);
    TIMINGWHEEL_PROBE_2(schedule, &node, now);
    TIMINGWHEEL_PROBE_2(expire, &node, now);
    if (context().isObserved()) [[unlikely]] {
        for (Stage const stage : {Stage::schedule, Stage::intake, Stage::expire})
            tasks.events.record(stage, node);
    }
    if (context().options.executor.isInline()) {
        Runner{hold, frame}.runOnce(node);
        return true;
    }
    ++tasks.pending;
    tasks.running.add(frame);  // stop() waits until the executor has got the claim
    ExecutorClaims::dispatch(hold, node, TimeoutState::handedOver);
    hold.endRun(frame);
    return true;
}

void HashedWheelWorker::runQueued() noexcept {
    RunFrame frame{context()};
    Hold hold{*this};
    TimeoutEntry* const entry = hold.tasks().queue.useClaim();
    if (entry == nullptr) return;
    --hold.tasks().pending;
    Runner{hold, frame}.runOnce(*entry);
}

bool HashedWheelWorker::cancel(TimeoutNode& node) noexcept {
    if (!node.callsUserWhenCancelled()) {
        bool const isMine = cancelPending(node, TimeoutState::cancelled);
        if (isMine) unlinkAndEnd(node);
        return isMine;
    }
    // The user's code is called on the worker's thread, and may destroy the handle and the timer:
    // so this keeps node and worker.
    node.retain();
    bool const isMine = cancelPending(node, TimeoutState::cancelling);
    if (isMine) askToUnlink(node);
    release(node);
    return isMine;
}

/// False if the node is not pending.
bool HashedWheelWorker::cancelPending(TimeoutNode& node, TimeoutState state) noexcept {
    TimeoutWord word = TimeoutWord::of(node);
    do {
        if (word.state() != TimeoutState::pending) return false;
    } while (!markCancelled(node, word, state));
    return true;
}

bool HashedWheelWorker::cancelAndEnd(TimeoutNode& node) noexcept {
    TimeoutWord word = TimeoutWord::of(node);
    for (;;) {
        TimeoutState const state = word.state();
        if (state == TimeoutState::handedOver) return cancelQueued(node);
        if (state != TimeoutState::pending && state != TimeoutState::cancelling) return false;
        if (!markCancelled(node, word, TimeoutState::cancelled)) continue;
        if (state == TimeoutState::pending)
            unlinkAndEnd(node);
        else
            endTask(node);
        return state == TimeoutState::pending;
    }
}

/// Decides that a node is cancelled, or soon will be. False if another thread was faster; then
/// `seen` is what that left. With an observer it decides under the lock, so that collect() waits
/// for the event.
bool HashedWheelWorker::markCancelled(TimeoutNode& node, TimeoutWord& seen,
                                      TimeoutState state) noexcept {
    TimeoutWord const cancelled{seen.deadline(), state};
    if (!context().isObserved()) [[likely]] {
        bool const wasPending = seen.state() == TimeoutState::pending;
        if (!cancelled.replace(node, seen)) return false;
        if (wasPending) TIMINGWHEEL_PROBE_1(cancel, &node);
        return true;
    }
    Hold const hold{*this};
    bool const wasPending = seen.state() == TimeoutState::pending;
    if (!cancelled.replace(node, seen)) return false;
    if (wasPending) {
        TIMINGWHEEL_PROBE_1(cancel, &node);
        hold.tasks().events.record(Stage::cancel, node);
    }
    return true;
}

/// Cancels a node that waits for the executor. False if its task runs, or has run.
bool HashedWheelWorker::cancelQueued(TimeoutNode& node) noexcept {
    {
        Hold const hold{*this};
        TaskBook& tasks = hold.tasks();
        TimeoutWord const word = TimeoutWord::of(node);
        if (word.state() != TimeoutState::handedOver) return false;
        tasks.queue.unlink(node);
        --tasks.pending;
        ++tasks.counters.cancelled;
        TimeoutWord{word.deadline(), TimeoutState::cancelled}.storeIn(node);
        TIMINGWHEEL_PROBE_1(cancel, &node);
        if (tasks.events.isObserved()) [[unlikely]]
            tasks.events.record(Stage::cancel, node);
    }
    endCancelled(node);
    return true;
}

/// Ends a pending node that this thread made `cancelled`. Most live shorter than a tick: they never
/// reach the worker, which only counts them.
void HashedWheelWorker::unlinkAndEnd(TimeoutNode& node) noexcept {
    if (CellQueue::takeBack(node)) {
        letCopyEnd(node);
        return endCancelled(node);
    }
    askToUnlink(node);
    endTask(node);
}

/// sharedTask() copies the task under the lock, and findPending() reads its tag: lets them finish.
void HashedWheelWorker::letCopyEnd(TimeoutNode& node) noexcept {
    if (node.task().shared == nullptr && node.task().tag == nullptr) return;
    Hold const hold{*this};
}

/// Ends the task of a node that this thread made `cancelled`.
void HashedWheelWorker::endTask(TimeoutNode& node) noexcept {
    letCopyEnd(node);
    endCancelledTask(context(), node);
}

/// Has the worker unlink the node at the next tick. This thread does not touch the node afterwards.
void HashedWheelWorker::askToUnlink(TimeoutNode& node) noexcept {
    node.retain();
    cancelled_.push(node);
    if (hasEnded_.load(std::memory_order_seq_cst)) return unlinkCancelled();
    // The worker may have found everything empty before the push: see settle().
    if (nextWake() == Tick::max()) ringUnlessClosed();
}

/// The clock lives until the worker is closed. The lock keeps it open meanwhile.
void HashedWheelWorker::ringUnlessClosed() noexcept {
    FlatHold const hold{*this};
    if (!hold->isClosed) ringBy(context().scale.nowToTick(context().now()) + 1);
}

// ---- a tick -----------------------------------------------------------------------------------

Tick HashedWheelWorker::nextTick() noexcept {
    // A caller that read the clock long ago may have rung for a tick that is over.
    return nextWakeWord().raise(wheel_.currentTick() + 1);
}

void HashedWheelWorker::wake(Tick tick, RunFrame& frame) noexcept {
    wheel_.beginTick(Tick{tick.value() - 1});  // an empty wheel goes there at once
    unlinkCancelled();
    transfer(tick);
    TIMINGWHEEL_PROBE_3(wake, tick.value() % ticksPerWheel(), std::int64_t{0}, tick);
    // A cancelled() may have destroyed the timer just now.
    if (context().isObserved() && !context().hasStopped()) [[unlikely]]
        observeWake(tick);
    if (wheel_.beginTick(tick)) {
        while (takeDue()) {
            Hold hold{*this};
            while (nextDue_ < endOfDue_) expire(hold, *due_[nextDue_++], frame);
        }
        frame.meter.finish();
    }
    settle(tick);
}

/// Takes the next few that are due out of the slot, so that one hold of the lock ends a run and
/// begins the next. A cancel() still wins until the turn of its timeout.
bool HashedWheelWorker::takeDue() noexcept {
    std::lock_guard const looking{looking_};
    nextDue_ = 0;
    endOfDue_ = 0;
    while (endOfDue_ < due_.size()) {
        TimerTaskEntry* const entry = wheel_.takeDue();
        if (entry == nullptr) break;
        due_[endOfDue_++] = static_cast<TimeoutNode*>(entry);
    }
    return endOfDue_ > 0;
}

void HashedWheelWorker::unlink(EntryQueue all) noexcept {
    while (!all.empty()) {
        auto& node = static_cast<TimeoutNode&>(all.takeFirst());
        // One that is not placed yet is in its cell, and will be released there.
        bool const wasPlaced = EntryLinks::hasLocation(node);
        if (wasPlaced) {
            std::lock_guard const looking{looking_};
            wheel_.remove(node);
        }
        countCancelled(1);
        TimeoutWord word = TimeoutWord::of(node);
        if (word.state() == TimeoutState::cancelling &&
            TimeoutWord{word.deadline(), TimeoutState::cancelled}.replace(node, word))
            endTask(node);
        // The wheel's reference, then the stack's.
        if (wasPlaced) release(node);
        release(node);
    }
}

/// Those that left the wheel, or their cells, before their tick.
void HashedWheelWorker::countCancelled(std::size_t count) noexcept {
    if (count == 0) return;
    cancelledCount_.fetch_add(count, std::memory_order_relaxed);
    context().limit.release(count);
}

/// Moves new timeouts into their slots, a limited number each tick, as in Netty. If one finds no
/// memory, it and the rest are tried again at the next tick.
void HashedWheelWorker::transfer(Tick tick) noexcept {
    std::unique_lock looking{looking_};
    std::size_t const takenBack = added_.take(kMostTransferred, [&](TimerTaskEntry& entry) {
        return place(static_cast<TimeoutNode&>(entry), tick, looking);
    });
    accepted_ += static_cast<std::int64_t>(takenBack);
    countCancelled(takenBack);
}

/// Puts a node into its slot, or into that of `tick` if it is late. False if there is no memory.
bool HashedWheelWorker::place(TimeoutNode& node, Tick tick, Looking& looking) noexcept {
    TimeoutWord word = TimeoutWord::of(node);
    while (word.deadline() < tick && word.state() == TimeoutState::pending &&
           !TimeoutWord{tick, TimeoutState::pending}.replace(node, word)) {
    }
    word = TimeoutWord::of(node);
    if (word.state() != TimeoutState::pending) {
        ++accepted_;
        release(node);
        return true;
    }
    try {
        static_cast<void>(wheel_.place(node));  // not due: see above
    } catch (std::bad_alloc const&) {
        return false;
    }
    ++accepted_;
    TIMINGWHEEL_PROBE_2(place, &node, static_cast<std::int64_t>(RawHashedWheel::slotOf(node)));
    if (context().isObserved()) [[unlikely]] {
        looking.unlock();
        observePlace(node);
        looking.lock();
    }
    return true;
}

/// Its tick has come: decides who has it, and runs or dispatches it.
void HashedWheelWorker::expire(Hold& hold, TimeoutNode& node, RunFrame& frame) noexcept {
    TimeoutWord word = TimeoutWord::of(node);
    if (word.state() != TimeoutState::pending ||
        !TimeoutWord{word.deadline(), TimeoutState::handedOver}.replace(node, word)) {
        // Cancelled since the tick began. It can be nothing else, since nobody moves a deadline.
        // Not the last reference: the canceller has a handle, or has pushed its own on the stack.
        return release(node);
    }
    context().limit.release();
    TIMINGWHEEL_PROBE_2(expire, &node, word.deadline());
    if (context().isObserved()) [[unlikely]]
        hold.tasks().events.record(Stage::expire, node);
    if (context().options.executor.isInline()) return Runner{hold, frame}.runOnce(node);
    ++hold.tasks().pending;
    ExecutorClaims::dispatch(hold, node, TimeoutState::handedOver);
}

/// Says when to come again. A caller adds, then reads the next wake; this writes the next wake,
/// then looks for what was added. One of the two sees the other.
void HashedWheelWorker::settle(Tick tick) noexcept {
    bool const isIdle = wheel_.empty() && added_.isTaken();
    nextWakeWord().set(isIdle ? Tick::max() : tick + 1);
    if (isIdle && !(added_.isEmpty() && cancelled_.empty())) ringBy(tick + 1);
}

// ---- starting, stopping, looking --------------------------------------------------------------

void HashedWheelWorker::open() noexcept {
    added_.open();
    wasOpened_.store(true, std::memory_order_release);
}

void HashedWheelWorker::close() noexcept {
    {
        std::lock_guard const looking{looking_};
        added_.close();
    }
    FlatHold const hold{*this};
    hold->isClosed = true;
}

void HashedWheelWorker::collect(StoppedTimeouts& stopped) noexcept {
    returnQueuedAndWait(stopped);
    // Another thread that cancels from here on must not end these: the stop does.
    cancelledBefore_ = cancelled_.takeAll();
    std::size_t const takenBack = returnAll(stopped);
    accepted_ += static_cast<std::int64_t>(takenBack);
    countCancelled(takenBack);
    // A caller that won a cancel before, and pushes only now, sees this and unlinks by itself.
    hasEnded_.store(true, std::memory_order_seq_cst);
    nextWakeWord().set(Tick::max());
    Hold hold{*this};
    hold.tasks().madeShares += std::exchange(accepted_, 0);
    // Every cancel() is decided by now, but events of other threads may still be on their way.
    waitForOtherThreads(hold);
}

void HashedWheelWorker::tellStopped(StoppedTimeouts const& stopped) noexcept {
    RunFrame const frame{context()};  // what it calls must not wait for this stop
    unlink(std::exchange(cancelledBefore_, EntryQueue{}));
    unlinkCancelled();
    for (StoppedTimeout const& each : stopped) {
        Timeout const handle = each.timeout();
        callCancelled(context(), *TimeoutAccess::node(handle));
    }
}

/// Returns how many were taken back from their cells.
std::size_t HashedWheelWorker::returnAll(StoppedTimeouts& stopped) noexcept {
    Looking looking{looking_};
    while (nextDue_ < endOfDue_) returnPending(*due_[nextDue_++], stopped, looking);
    while (TimerTaskEntry* const entry = wheel_.takeAny())
        returnPending(static_cast<TimeoutNode&>(*entry), stopped, looking);
    return added_.takeRest([&](TimerTaskEntry& entry) {
        ++accepted_;
        returnPending(static_cast<TimeoutNode&>(entry), stopped, looking);
        return true;
    });
}

void HashedWheelWorker::returnQueuedAndWait(StoppedTimeouts& stopped) noexcept {
    for (bool more = true; more;) {
        Hold hold{*this};  // one for each chunk: others get the lock in between
        TaskBook& tasks = hold.tasks();
        std::size_t budget = kPerHold;
        for (; budget > 0 && tasks.queue.size() > 0; --budget) {
            --tasks.pending;
            Runner::returnTo(stopped, hold, tasks.queue.takeFirst());
        }
        more = budget == 0;
        if (!more) waitForOtherThreads(hold);
    }
}

void HashedWheelWorker::waitForOtherThreads(Hold& hold) noexcept {
    hold.waitForRuns(
        [&] { return !hold.tasks().running.hasOfOtherThread(RunFrame::thisThread()); });
}

/// The observer receives the event without either lock.
void HashedWheelWorker::returnPending(TimeoutNode& node, StoppedTimeouts& stopped,
                                      Looking& looking) noexcept {
    {
        Hold hold{*this};
        if (!Runner::returnTo(stopped, hold, node)) hold.releaseLater(node);
        looking.unlock();
    }
    looking.lock();
}

void HashedWheelWorker::readInto(TimerStatistics& statistics) {
    Hold const hold{*this};
    TaskBook const& tasks = hold.tasks();
    tasks.counters.readInto(statistics);
    statistics.cancelled += cancelledCount_.load(std::memory_order_relaxed);
    statistics.pending = context().limit.count();
    statistics.scheduled = statistics.pending + statistics.fired + statistics.cancelled +
                           statistics.returned + statistics.rejected + tasks.queue.size();
}

// An entry goes from its cell to a slot, from there to `due_`, and then it is not pending any more.
// So a look that goes the same way misses none. In a slot an entry's index only becomes smaller.

void HashedWheelWorker::findPending(FoundTimeouts& found) {
    LookPlace place;
    do {
        found.makeRoom(kPerLook + due_.size());
    } while (!lookOn(found, place));
}

/// Looks at the next kPerLook cells or entries. Returns true at the end.
bool HashedWheelWorker::lookOn(FoundTimeouts& found, LookPlace& place) noexcept {
    std::lock_guard const looking{looking_};
    Hold const hold{*this};  // see letCopyEnd(), and expire() with what is in `due_`
    std::size_t left = kPerLook;
    if (!place.isThroughCells)
        place.isThroughCells = added_.look(place.cell, left, [&](TimerTaskEntry& entry) {
            addIfPending(found, static_cast<TimeoutNode&>(entry));
        });
    if (!place.isThroughCells || !lookIntoSlots(place, left, found)) return false;
    for (std::size_t i = nextDue_; i < endOfDue_; ++i) addIfPending(found, *due_[i]);
    return true;
}

bool HashedWheelWorker::lookIntoSlots(LookPlace& place, std::size_t& left,
                                      FoundTimeouts& found) noexcept {
    auto const slots = wheel_.allSlots();
    std::size_t slotsLeft = kSlotsPerLook;
    for (; place.slot < slots.size(); ++place.slot, place.end = SIZE_MAX) {
        if (slotsLeft-- == 0) return false;
        auto const entries = slots[place.slot].entries();
        for (place.end = std::min(place.end, entries.size()); place.end > 0; --place.end) {
            if (left == 0) return false;
            --left;
            if (TimerTaskEntry* const entry = entries[place.end - 1])
                addIfPending(found, static_cast<TimeoutNode&>(*entry));
        }
    }
    return true;
}

// ---- observing --------------------------------------------------------------------------------

// What happens without the lock is recorded alone. So it is delivered before the next step.

void HashedWheelWorker::observe(Stage stage, TimeoutNode const& node) noexcept {
    Hold const hold{*this};
    hold.tasks().events.record(stage, node);
}

void HashedWheelWorker::observePlace(TimeoutNode const& node) noexcept {
    Hold const hold{*this};
    EventLog& events = hold.tasks().events;
    TimerEvent event = events.eventOf(Stage::place, &node);
    event.slot = static_cast<std::uint32_t>(RawHashedWheel::slotOf(node));
    event.expiration = node.deadline();
    events.record(event);
}

void HashedWheelWorker::observeWake(Tick tick) noexcept {
    Hold const hold{*this};
    EventLog& events = hold.tasks().events;
    TimerEvent event = events.eventOf(Stage::wake, nullptr);
    event.slot = static_cast<std::uint32_t>(tick.value() % ticksPerWheel());
    event.expiration = tick;
    events.record(event);
}

}  // namespace timingwheel::inline v1::detail
