#include "core/driver/Shard.h"

#include "core/driver/keeper/ExecutorClaims.h"
#include "core/driver/keeper/Runner.h"
#include "core/driver/run/TaskEnd.h"

#include <algorithm>
#include <new>

namespace timingwheel::inline v1::detail {

namespace {

/// What a schedule says at a gate that is not open.
Shard::Answer answerAt(ShardBook::Gate gate) noexcept {
    if (gate == ShardBook::Gate::notStarted) return Shard::Answer::notStarted;
    return gate == ShardBook::Gate::draining ? Shard::Answer::draining : Shard::Answer::closed;
}

/// Ends a node that a cancelAll() has cancelled, unless another thread has ended it.
void endIfCancelling(TimeoutNode& node) noexcept {
    TimeoutWord word = TimeoutWord::of(node);
    if (word.state() == TimeoutState::cancelling &&
        TimeoutWord{word.deadline(), TimeoutState::cancelled}.replace(node, word))
        endCancelledTask(Shard::of(node)->context(), node);
}

}  // namespace

Shard::Shard(TimerContext& context, std::uint32_t number)
    : Keeper{context, number},
      book_{Hold{*this}.tasks(), TimingWheelOptions{.wheelSize = context.options.wheelSize,
                                                    .levelSizes = context.options.levelSizes,
                                                    .start = Tick{0}}} {}

// ---- schedule, cancel, reschedule -------------------------------------------------------------

Shard::Answer Shard::schedule(TimeoutNode& node, Tick deadline, Tick farthest,
                              Clock::TimePoint now) {
    ShardHold hold{*this};
    if (hold->gate() != ShardBook::Gate::open) return answerAt(hold->gate());
    catchUp(hold, now);
    reserve(hold, farthest);
    node.keeper.store(this, std::memory_order_relaxed);
    hold.makeShare();
    hold.wakeBy(hold->accept(node, deadline));
    return Answer::accepted;
}

Shard::Answer Shard::schedule(std::span<HookEntry* const> hooks, Tick deadline,
                              Clock::TimePoint now) {
    ShardHold hold{*this};
    if (hold->gate() != ShardBook::Gate::open) return answerAt(hold->gate());
    hold.keepKeeper();
    for (HookEntry* const hook : hooks)
        if (Answer const answer = scheduleOrMove(hold, *hook, deadline, now);
            answer != Answer::accepted)
            return answer;
    return Answer::accepted;
}

inline Shard::Answer Shard::scheduleOrMove(ShardHold& hold, HookEntry& hook, Tick deadline,
                                           Clock::TimePoint now) {
    Keeper* const former = hook.keeper.load(std::memory_order_relaxed);
    if (former == this) {
        TimeoutWord const word = TimeoutWord::of(hook);
        if (isPending(word.state())) {
            if (!hold->expectsPushBacks()) expectPushBacks(hold);
            if (pushBack_.move(hook, deadline, context().pushedBack)) return Answer::accepted;
            // What a cancelAll() cancels instead, or has run meanwhile, is scheduled anew.
            if (moveUnder(hold, hook, word, deadline, now)) return Answer::accepted;
        }
    }
    catchUp(hold, now);
    reserve(hold, deadline);
    // Before the limit is asked: if the hook is pending elsewhere it is only moved.
    if (!adopt(hold, hook, former)) return Answer::elsewhere;
    if (!context().limit.tryAcquire()) {
        // A new hook stays here, since others may have seen that already. One of another timer goes
        // back: nobody else may use it during its first schedule here.
        if (former != nullptr && former != this) {
            hook.keeper.store(former, std::memory_order_relaxed);
            --hold.tasks().madeShares;
        }
        return Answer::full;
    }
    // The timer gave it up, and has not notified its object yet: it is scheduled instead.
    if (hook.isQueued()) [[unlikely]]
        TimerTaskList::remove(hook);
    hold.wakeBy(hold->accept(hook, deadline));
    return Answer::accepted;
}

/// Makes this the hook's shard. Of several threads that schedule a new hook at once, one does so:
/// for the others it returns false.
bool Shard::adopt(ShardHold& hold, HookEntry& hook, Keeper* former) noexcept {
    if (former == this) return true;  // it has its share
    if (former != nullptr && &former->context() == &context()) return false;
    if (!hook.keeper.compare_exchange_strong(former, this, std::memory_order_release,
                                             std::memory_order_relaxed))
        return false;
    hold.makeShare();
    return true;
}

bool Shard::cancel(TimeoutNode& node) noexcept {
    Cancelled const cancelled = cancelEntry(node);
    if (cancelled == Cancelled::yes) {
        // Release the limit first, since the user's code may schedule.
        context().limit.release();
        endCancelled(node);
    } else if (cancelled == Cancelled::whileRunning) [[unlikely]] {
        context().release();
    }
    return cancelled != Cancelled::no;
}

/// Does not wait for a cancelAll() to come to this node: that may be this thread's.
bool Shard::cancelAndEnd(TimeoutNode& node) noexcept {
    if (cancel(node)) return true;
    endIfCancelling(node);
    return false;
}

bool Shard::cancel(HookEntry& hook) noexcept {
    if (cancelEntry(hook) == Cancelled::no) return false;
    context().limit.release();
    return true;
}

/// Looks before it locks: a timeout that has ended costs no lock.
inline Shard::Cancelled Shard::cancelEntry(TimeoutEntry& entry) noexcept {
    TimeoutState const seen = TimeoutWord::of(entry).state();
    if (!isPending(seen) && seen != TimeoutState::running) return Cancelled::no;

    ShardHold hold{*this};
    TimeoutWord const word = TimeoutWord::of(entry);
    if (word.state() == TimeoutState::running) {
        if (!static_cast<TimeoutNode&>(entry).isPeriodic()) return Cancelled::no;
        hold->cancelRunning(entry, word);
        // Until the lock is through. No share: the run may have destroyed the timer, which has
        // counted them.
        context().retain();
        return Cancelled::whileRunning;
    }
    if (!hold->seize(entry, word)) return Cancelled::no;
    hold->cancel(entry, word);
    hold.notifyIfDrained();
    return Cancelled::yes;
}

std::size_t Shard::cancel(std::span<HookEntry* const> hooks) noexcept {
    std::size_t count = 0;
    {
        ShardHold hold{*this};
        for (HookEntry* const hook : hooks)
            if (hook->isQueued()) TimerTaskList::prefetchNeighbours(*hook);
        for (HookEntry* const hook : hooks) {
            TimeoutWord const word = TimeoutWord::of(*hook);
            if (!hold->seize(*hook, word)) continue;
            hold->cancel(*hook, word);
            ++count;
        }
        hold.notifyIfDrained();
    }
    context().limit.release(count);
    return count;
}

std::size_t Shard::cancelAll(TimerTaskList& ended) noexcept {
    std::size_t queued = 0;
    {
        ShardHold const hold{*this};
        queued = hold->beginCancelAll();
    }
    std::size_t count = 0;
    for (bool more = true; more;) {
        ShardHold hold{*this};  // one for each chunk: others get the lock in between
        std::size_t cancelled = 0;
        while (cancelled < kPerHold && hold->cancelNext(queued)) ++cancelled;
        context().limit.release(cancelled);
        count += hold->takeCancelled(ended);
        more = cancelled == kPerHold;
        if (!more) hold->endCancelAll();
        hold.notifyIfDrained();
    }
    return count;
}

void Shard::endAll(TimerTaskList& ended) noexcept {
    while (!ended.empty()) {
        auto& node = static_cast<TimeoutNode&>(ended.takeFirst());
        endIfCancelling(node);
        release(node);
    }
}

bool Shard::rescheduleAt(TimeoutEntry& entry, Clock::TimePoint time, Tick deadline) {
    if (pushBack(entry, deadline, context().pushedBack)) return true;
    if (!isPending(TimeoutWord::of(entry).state())) return false;
    // A hook's timer may have stopped.
    Clock::TimePoint const now = context().clock.callersNowOrFrozen();
    return move(entry, time <= now ? context().scale.nowToTick(now) : deadline, now);
}

bool Shard::move(TimeoutEntry& entry, Tick deadline, Clock::TimePoint now) {
    if (!isPending(TimeoutWord::of(entry).state())) return false;
    ShardHold hold{*this};
    TimeoutWord const word = TimeoutWord::of(entry);
    if (!isPending(word.state())) return false;
    hold.keepKeeper();
    return moveUnder(hold, entry, word, deadline, now);
}

/// Moves a pending entry. Returns false if a cancelAll() that is under way cancels it instead, or
/// if the driver has just entered it.
inline bool Shard::moveUnder(ShardHold& hold, TimeoutEntry& entry, TimeoutWord word, Tick deadline,
                             Clock::TimePoint now) {
    if (hold->isCancellingAll()) [[unlikely]] {
        cancelUnder(hold, entry, word);
        return false;
    }
    catchUp(hold, now);
    // A deadline in the past becomes now: it must not overtake what has waited longer, here or in
    // another shard. It needs memory only if the driver is late by all that the levels reach: a
    // stop token's callback cannot report that there is none.
    Tick const tickNow = context().scale.nowToTick(now);
    if (deadline <= tickNow)
        reserveIfPossible(hold, deadline = tickNow);
    else
        reserve(hold, deadline);
    if (!hold->seize(entry, word)) return false;  // last, since then nothing may fail
    hold.wakeBy(hold->move(entry, word, deadline));
    return true;
}

/// For the cancelAll() that is under way.
void Shard::cancelUnder(ShardHold& hold, TimeoutEntry& entry, TimeoutWord word) noexcept {
    if (!hold->seize(entry, word)) return;
    hold->cancelForAll(entry, word);
    context().limit.release();
    hold.notifyIfDrained();
}

/// The first reschedule here.
void Shard::allowPushBacks() noexcept {
    ShardHold hold{*this};
    expectPushBacks(hold);
}

void Shard::expectPushBacks(ShardHold& hold) noexcept {
    hold->expectPushBacks();
    publishReach(hold);
}

/// Says how far a pending entry may be pushed back without the lock. Not at all before the first
/// reschedule: a timer whose timeouts never move then pays nothing for push-backs.
void Shard::publishReach(ShardHold& hold) noexcept {
    if (hold->expectsPushBacks()) pushBack_.publish(hold->reach());
}

/// Builds the levels that `deadline` needs. Strong exception safety.
inline void Shard::reserve(ShardHold& hold, Tick deadline) {
    if (hold->reserve(deadline)) publishReach(hold);
}

/// The same for a deadline that lies beyond the levels only if the clock has jumped or a run took
/// long.
void Shard::reserveIfPossible(ShardHold& hold, Tick deadline) noexcept {
    if (hold->reserveIfPossible(deadline)) publishReach(hold);
}

// ---- the clock --------------------------------------------------------------------------------

/// Once a tick.
inline void Shard::catchUp(ShardHold& hold, Clock::TimePoint now) noexcept {
    if (now >= hold->catchUpAt) catchUpNow(hold, now);
}

void Shard::catchUpNow(ShardHold& hold, Clock::TimePoint now) noexcept {
    Tick const tick = context().scale.nowToTick(now);
    bool const mayGoBack = context().clock.mayGoBack();
    if (mayGoBack && turnBackIfSet(hold, tick)) return;
    hold->catchUp(tick);
    // A clock that may go back is looked at in each call.
    if (!mayGoBack) hold->catchUpAt = context().scale.timeOf(tick + 1);
}

void Shard::followClockBack() noexcept {
    ShardHold hold{*this};
    turnBackIfSet(hold, context().tickNow());
}

/// `tick` is a reading of the clock, perhaps not of this very moment. Returns true while the wheel
/// must stand still, because something has no place yet since it turned back.
bool Shard::turnBackIfSet(ShardHold& hold, Tick tick) noexcept {
    Tick const current = hold->currentTick();
    // A closed shard never needs the driver again.
    if (tick < current && hold->gate() != ShardBook::Gate::closed) {
        // Another thread may just have read the clock later, and was here before. Under the lock
        // nobody can.
        TickScale const& scale = context().scale;
        Clock::TimePoint const now = context().now();
        tick = std::max(scale.nowToTick(now), Tick{0});
        if (tick < current) {
            // By times, since a tick may be longer.
            bool const isCorrection =
                timeSince(now, scale.timeOf(current)) > Periodicity::kCorrection;
            hold.wakeBy(hold->turnBack(tick, isCorrection));
            publishReach(hold);
        }
    }
    return hold->isTurningBack();
}

// ---- the driver's step ------------------------------------------------------------------------

void Shard::beginPass(RunFrame& pass) noexcept {
    ShardHold hold{*this};
    hold.tasks().running.add(pass);
    hold.favourThisThread();
}

void Shard::beginPassOfClock(RunFrame& pass) noexcept {
    ShardHold const hold{*this};
    hold.tasks().running.add(pass);
}

void Shard::endPass(RunFrame& pass) noexcept { ShardHold{*this}.endRun(pass); }

void Shard::admitArrivals() noexcept {
    ShardHold const hold{*this};
    hold->admitArrivals();
}

Shard::Served Shard::serve(Tick limit, RunFrame& frame, std::size_t atMost) {
    Served served;
    {
        ShardHold hold{*this};
        // The clock may have been set back since `limit` was read, and something accepted since
        // that is not due.
        if (context().clock.mayGoBack()) limit = std::min(limit, context().tickNow());
        served = serveUnder(hold, limit, frame, atMost);
        publishReach(hold);
        hold.setNextWake(hold->nextWake());
    }
    frame.meter.finish();
    return served;
}

/// Alone, so that what locking takes leaves the registers to the loop.
Shard::Served Shard::serveUnder(ShardHold& hold, Tick limit, RunFrame& frame, std::size_t atMost) {
    std::size_t started = 0;
    ShardBook::Turn turn = hold->begin(limit);
    if (hold->isTurningBack()) [[unlikely]]
        hold->placeGathered(turn);
    // An observer gets each step before the next.
    bool const isChunked =
        atMost > 1 && context().options.executor.isInline() && !context().isObserved();
    while (started < atMost && !hold->isTurningBack()) {
        if (isChunked) {
            if (Chunk* const chunk = hold->nextChunk(turn, atMost - started)) {
                Runner{hold, frame}.runChunk(*chunk);
                started += hold->endChunk();
                hold.endRun(frame);
                continue;
            }
        }
        TimeoutEntry* const due = hold->next(turn);
        if (due == nullptr) break;
        ++started;
        if (!context().options.executor.isInline()) {
            ExecutorClaims::dispatch(hold, *due, TimeoutState::queued);
            continue;
        }
        --hold.tasks().pending;
        run(hold, frame, *due);
    }
    return {turn.moved, started};
}

void Shard::runQueued() noexcept {
    RunFrame frame{context()};
    ShardHold hold{*this};
    TimeoutEntry* const entry = hold.tasks().queue.useClaim();
    if (entry == nullptr) return;
    --hold.tasks().pending;
    run(hold, frame, *entry);
}

/// Runs a task, and ends it or schedules its next run.
void Shard::run(ShardHold& hold, RunFrame& frame, TimeoutEntry& entry) noexcept {
    Runner runner{hold, frame};
    TimeoutNode* const node = periodicNode(entry);
    if (node == nullptr) return runner.runOnce(entry);
    if (!scheduleNextRun(hold, *node, runner.runPeriodic(*node))) runner.endPeriodic(*node);
    hold.endRun(frame);
}

/// Places a periodic timeout again, or keeps it for stop(). Returns false if it has ended.
bool Shard::scheduleNextRun(ShardHold& hold, TimeoutNode& node,
                            std::optional<NextRun> const& next) noexcept {
    switch (hold->fateOf(node, next.has_value())) {
        case ShardBook::Fate::ended:
            return false;
        case ShardBook::Fate::kept:
            return true;
        case ShardBook::Fate::again:
            break;
    }
    catchUp(hold, next->ended);
    reserveIfPossible(hold, next->tick);
    hold.wakeBy(hold->again(node, *next));
    return true;
}

bool Shard::cancelAndWait(HookEntry& hook) {
    ShardHold hold{*this};
    return cancelAndWait(hold, hook);
}

bool Shard::cancelAndWait(ShardHold& hold, HookEntry& hook) {
    RunningTasks const& running = hold.tasks().running;
    void const* const self = RunFrame::thisThread();
    for (bool wasPending = false;;) {
        // The run that this waits for may schedule the hook anew.
        TimeoutWord const word = TimeoutWord::of(hook);
        if (hold->seize(hook, word)) {
            hold->cancel(hook, word);
            hold.notifyIfDrained();
            context().limit.release();
            wasPending = true;
        }
        std::uint64_t const upTo = running.runs();
        if (!running.runsElsewhere(hook, upTo, self)) return wasPending;
        hold.waitForRuns([&] { return !running.runsElsewhere(hook, upTo, self); });
    }
}

void Shard::forget(HookEntry& hook) {
    ShardHold hold{*this};
    cancelAndWait(hold, hook);
    if (hook.isQueued()) TimerTaskList::remove(hook);  // given up, and its object not yet notified
    hold.tasks().running.forget(hook);
}

bool Shard::isRunning(HookEntry const& hook) {
    ShardHold const hold{*this};
    return hold.tasks().running.runs(hook);
}

// ---- starting, stopping, looking --------------------------------------------------------------

void Shard::open() {
    ShardHold const hold{*this};
    hold->open();
}

void Shard::beginDraining() {
    ShardHold const hold{*this};
    hold->beginDraining();
}

void Shard::waitUntilDrained() {
    ShardHold hold{*this};
    hold.waitForDrain(
        [&] { return hold.tasks().isDrained() || hold->gate() == ShardBook::Gate::closed; });
}

void Shard::close(StoppedTimeouts& stopped) noexcept {
    for (bool more = true; more;) {
        ShardHold hold{*this};  // one for each chunk: others get the lock in between
        hold->close();
        std::size_t budget = kPerHold;
        for (; budget > 0; --budget) {
            TimeoutEntry* const entry = hold->takePending();
            if (entry == nullptr) break;
            if (Runner::returnTo(stopped, hold, *entry) && entry->isHook())
                hold->keepGivenUp(static_cast<HookEntry&>(*entry));
        }
        more = budget == 0;
        hold.setNextWake(hold->nextWake());
        hold.notifyDrained();
    }
}

void Shard::collectLate(StoppedTimeouts& stopped) noexcept {
    ShardHold hold{*this};
    // A periodic timeout that runs now is kept when its run ends.
    hold.waitForRuns(
        [&] { return !hold.tasks().running.hasOfOtherThread(RunFrame::thisThread()); });
    hold->endLate();
    while (TimeoutNode* const node = hold->takeLate()) Runner::returnTo(stopped, hold, *node);
}

void Shard::endGivenUp(RunFrame& frame) noexcept {
    ShardHold hold{*this};
    while (HookEntry* const hook = hold->takeGivenUp()) {
        TaskSubject const subject{*hook};
        frame.entry = hook;  // a destructor on another thread waits for it, as for a run
        hold.tasks().running.add(frame);
        {
            Hold::Released const released{hold};
            callGivenUp(context(), subject);
        }
        hold.endRun(frame);
    }
}

void Shard::waitForGivenUp() noexcept {
    ShardHold hold{*this};
    RunningTasks const& running = hold.tasks().running;
    std::uint64_t const upTo = running.runs();
    hold.waitForRuns([&] { return !running.givesUpElsewhere(upTo, RunFrame::thisThread()); });
}

std::size_t Shard::pending() {
    ShardHold const hold{*this};
    return hold->pending();
}

void Shard::findPending(FoundTimeouts& found) {
    // Room for what the driver moves between two holds: more only if this thread was held up.
    for (std::size_t notes = 4 * kPerHold;; notes *= 2) {
        PendingWalk walk{found, context().scale, notes};
        walkThrough(walk);
        walk.prepare();
        if (!walk.hasMissed()) return;
        found.clear();
    }
}

/// What the driver moves is noted until this returns or throws.
void Shard::walkThrough(PendingWalk& walk) {
    struct Ending {
        Shard& shard;
        PendingWalk& walk;
        ~Ending() {
            ShardHold const hold{shard};
            hold->endWalk();
            walk.begin();  // takes the last notes
        }
    };
    {
        ShardHold hold{*this};
        hold.wakeBy(hold->beginWalk(walk));
    }
    Ending const ending{*this, walk};
    for (bool more = true; more;) {
        walk.prepare();
        ShardHold const hold{*this};  // one for each part: others get the lock in between
        more = !hold->walkOn(walk);
    }
    walk.prepare();
}

void Shard::readInto(TimerStatistics& statistics) {
    ShardHold const hold{*this};
    hold->readInto(statistics);
}

void Shard::checkInvariants() {
    ShardHold const hold{*this};
    hold->checkInvariants(nextWake());
}

}  // namespace timingwheel::inline v1::detail
