#include "core/driver/Shard.h"

#include "core/driver/ExecutorClaims.h"
#include "core/driver/Section.h"
#include "core/driver/run/TaskEnd.h"

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

namespace {

TimeoutNode* periodicNode(TimeoutEntry& entry) noexcept {
    if (entry.isHook()) return nullptr;
    auto& node = static_cast<TimeoutNode&>(entry);
    return node.isPeriodic() ? &node : nullptr;
}

/// What is due has got another deadline. A periodic timeout still counts from the one that it was
/// scheduled for, unless it was rescheduled since.
void noteDeadline(TimeoutEntry& entry, Tick before, Tick now) noexcept {
    auto* const node = periodicNode(entry);
    if (node != nullptr && node->periodicity().scheduled == before)
        node->periodicity().scheduled = now;
}

}  // namespace

Shard::Shard(TimerContext& context, std::uint32_t number)
    : TimeoutKeeper{context, number},
      wheel_{TimingWheelOptions{.wheelSize = context.options.wheelSize,
                                .levelSizes = context.options.levelSizes,
                                .start = Tick{0}}} {}

// ---- schedule, cancel, reschedule -------------------------------------------------------------

/// Takes in an entry of this shard that is not pending, once nothing can fail any more.
inline void Shard::admit(Section& section, TimeoutEntry& entry, Tick deadline) noexcept {
    ++pending_;
    ++counters_.scheduled;
    TimeoutWord{deadline, TimeoutState::pending}.storeIn(entry);
    TimerTaskList const* const bucket = place(section, entry);
    if (isObserved()) [[unlikely]] {
        record(Stage::schedule, entry);
        recordIntake(entry, bucket);
    }
}

Shard::Gate Shard::schedule(TimeoutNode& node, Tick deadline, Tick farthest, Clock::TimePoint now) {
    Section section{*this};
    if (gate_ != Gate::open) return gate_;
    catchUp(section, now);
    reserve(farthest);
    node.keeper.store(this, std::memory_order_release);
    ++madeShares_;
    admit(section, node, deadline);
    return Gate::open;
}

Shard::Gate Shard::schedule(std::span<HookEntry* const> hooks, Tick deadline,
                            Clock::TimePoint now) {
    Section section{*this};
    if (gate_ != Gate::open) return gate_;
    for (HookEntry* const hook : hooks)
        if (!scheduleOrMove(section, *hook, deadline, now)) return Gate::elsewhere;
    return Gate::open;
}

/// Returns false, and has changed nothing, if the hook belongs to another shard of the timer.
inline bool Shard::scheduleOrMove(Section& section, HookEntry& hook, Tick deadline,
                                  Clock::TimePoint now) {
    TimeoutKeeper* const former = hook.keeper.load(std::memory_order_relaxed);
    if (former == this) {
        TimeoutWord const word = TimeoutWord::of(hook);
        if (isPending(word.state())) {
            if (!pushBack_.isExpected()) pushBack_.publish(wheel_.reach());
            if (pushBack(hook, deadline)) {
                context_.pushedBack.add();
                return true;
            }
            // What a cancelAll() cancels instead is scheduled anew.
            if (moveLocked(section, hook, word, deadline, now)) return true;
        }
    }
    // Before the limit is asked: if the hook is pending elsewhere it is only moved.
    if (!adopt(hook, former)) return false;
    try {
        catchUp(section, now);
        reserve(deadline);
        context_.limit.acquire();
    } catch (...) {
        if (former != this) {
            hook.keeper.store(former, std::memory_order_relaxed);
            --madeShares_;
        }
        throw;
    }
    admit(section, hook, deadline);
    return true;
}

/// Makes this the hook's shard. Of several threads that schedule a new hook at once, one does so:
/// for the others it returns false.
bool Shard::adopt(HookEntry& hook, TimeoutKeeper* former) noexcept {
    if (former == this) return true;  // it has its share
    if (former != nullptr && &former->context() == &context_) return false;
    if (!hook.keeper.compare_exchange_strong(former, this, std::memory_order_release,
                                             std::memory_order_relaxed))
        return false;
    ++madeShares_;
    return true;
}

/// The first reschedule here.
void Shard::allowPushBacks() noexcept {
    Section const section{*this};
    pushBack_.publish(wheel_.reach());
}

/// Builds the levels that `deadline` needs. Strong exception safety.
void Shard::reserve(Tick deadline) {
    if (deadline < wheel_.reach()) return;
    wheel_.reserve(deadline);
    publishReach();
}

/// For the next run of a periodic timeout. It lies beyond the levels only if the clock has jumped
/// or the run took long. Without memory for a level, it is placed again in each turn of the
/// coarsest.
void Shard::reserveIfPossible(Tick deadline) noexcept {
    try {
        reserve(deadline);
    } catch (std::bad_alloc const&) {
        // Costs extra cascades; the timeout is still on time.
    }
}

/// Says how far a pending entry may be pushed back without the lock. Not at all before the first
/// reschedule: a timer whose timeouts never move then pays nothing for push-backs.
void Shard::publishReach() noexcept {
    if (pushBack_.isExpected()) pushBack_.publish(wheel_.reach());
}

void Shard::catchUpNow(Section& section, Clock::TimePoint now) noexcept {
    Tick const tick = context_.scale.nowToTick(now);
    bool const mayGoBack = context_.clock.mayGoBack();
    if (mayGoBack && turnBackIfSet(section, tick)) return;
    if (isObserved()) [[unlikely]]
        advanceClockAndRecord(tick);
    else
        wheel_.advanceClock(tick);
    // A clock that may go back is looked at in each call.
    if (!mayGoBack) catchUpAt_ = context_.scale.timeOf(tick + 1);
}

// A clock that was set back is followed in one hold, which empties the buckets and turns the wheel
// back: O(armed buckets). The driver then places what they held again, a chunk a hold. Until all
// has its place the wheel stands still and nothing expires, so the order of deadlines stays.

void Shard::followClockBack() noexcept {
    Section section{*this};
    turnBackIfSet(section, context_.tickNow());
}

/// `tick` is a reading of the clock, perhaps not of this very moment. Returns true while the wheel
/// must stand still, because something has no place yet since it turned back.
bool Shard::turnBackIfSet(Section& section, Tick tick) noexcept {
    if (tick < wheel_.currentTick()) {
        // Another thread may just have read the clock later, and was here before. Under the lock
        // nobody can.
        tick = std::max(context_.tickNow(), Tick{0});
        if (tick < wheel_.currentTick()) turnBack(section, tick);
    }
    return isTurningBack_;
}

void Shard::turnBack(Section& section, Tick tick) noexcept {
    // What an earlier step has left to be placed is corrected with it.
    std::int64_t const ticks = wheel_.currentTick().value() - tick.value();
    isCorrection_ = (isCorrection_ && isTurningBack_) ||
                    ticks > Periodicity::kCorrection / context_.scale.tick();
    wheel_.restart(tick);
    gatherReady();
    // A cancelAll() that is under way cancels this with what it has gathered.
    isTurningBack_ = gatherers_ == 0;
    if (isObserved()) [[unlikely]]
        recordRestart(tick);
    publishReach();
    nextWake_.lower(tick);
    section.ringBy(tick);
}

/// Makes a gathered entry that computes its times due, to compute the next one anew. Returns false
/// for all others.
bool Shard::correct(TimeoutEntry& entry) noexcept {
    auto* const node = periodicNode(entry);
    if (node == nullptr) return false;
    TimeoutWord const due{wheel_.currentTick(), TimeoutState::ready};
    TimeoutWord word = TimeoutWord::of(entry);
    do {  // a push-back may slip in: then it stays where that has put it
        if (!node->periodicity().correct(word.deadline(), due.deadline())) return false;
    } while (!due.replace(entry, word));
    due_.add(entry);
    return true;
}

/// Returns how many it placed. What was due before the clock was set back is due now.
std::size_t Shard::placeGathered(Section& section, std::size_t atMost) noexcept {
    for (std::size_t placed = 0; placed < atMost; ++placed) {
        if (!gatheredReady_.empty()) {
            auto& entry = static_cast<TimeoutEntry&>(gatheredReady_.takeFirst());
            TimeoutWord const word = TimeoutWord::of(entry);
            noteDeadline(entry, word.deadline(), wheel_.currentTick());
            TimeoutWord{wheel_.currentTick(), TimeoutState::ready}.storeIn(entry);
            due_.add(entry);
        } else if (TimerTaskEntry* const gathered = wheel_.takeGathered()) {
            auto& entry = static_cast<TimeoutEntry&>(*gathered);
            if (isCorrection_ && correct(entry)) continue;
            reserveIfPossible(TimeoutWord::of(entry).deadline());
            TimerTaskList const* const bucket = place(section, entry);
            if (isObserved() && bucket != nullptr) [[unlikely]]
                recordPlace(Stage::place, entry, *bucket);
        } else {
            isTurningBack_ = false;
            isCorrection_ = false;
            return placed;
        }
    }
    return atMost;
}

/// Puts a pending entry where its deadline says: into a bucket, which it returns, or among the
/// arrivals if it is due; then it returns null.
TimerTaskList const* Shard::place(Section& section, TimeoutEntry& entry) noexcept {
    TimeoutWord word = TimeoutWord::of(entry);
    for (;;) {
        Placement const placement = wheel_.place(entry, word.deadline());
        if (!placement.isDue()) {
            if (placement.isEarliest()) {
                Tick const expiration = Tick{placement.bucket().expiration()};
                nextWake_.lower(expiration);
                section.ringBy(expiration);
            }
            return &placement.bucket();
        }
        // Due on arrival. Its deadline becomes the wheel's clock: that keeps the list in the order
        // of deadlines, and nothing is early after the clock went back.
        TimeoutWord const ready{wheel_.currentTick(), TimeoutState::ready};
        if (ready.replace(entry, word)) {
            noteDeadline(entry, word.deadline(), ready.deadline());
            arrivals_.add(entry);
            nextWake_.lower(ready.deadline());
            section.ringBy(ready.deadline());
            return nullptr;
        }
    }
}

bool Shard::cancel(TimeoutNode& node) noexcept {
    Cancelled const cancelled = markCancelled(node);
    if (cancelled == Cancelled::yes) {
        // Release the limit first, since the user's code may schedule.
        context_.limit.release();
        endCancelled(node);
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
    if (markCancelled(hook) == Cancelled::no) return false;
    context_.limit.release();
    return true;
}

std::size_t Shard::cancel(std::span<HookEntry* const> hooks) noexcept {
    std::size_t count = 0;
    {
        Section const section{*this};
        for (HookEntry* const hook : hooks)
            if (hook->isQueued()) TimerTaskList::prefetchNeighbours(*hook);
        for (HookEntry* const hook : hooks) {
            TimeoutWord const word = TimeoutWord::of(*hook);
            if (!isPending(word.state())) continue;
            unlinkAndMark(*hook, word);
            ++count;
        }
    }
    context_.limit.release(count);
    return count;
}

/// Looks before it locks: a timeout that has ended costs no lock.
Shard::Cancelled Shard::markCancelled(TimeoutEntry& entry) noexcept {
    TimeoutState const seen = TimeoutWord::of(entry).state();
    if (!isPending(seen) && seen != TimeoutState::running) return Cancelled::no;

    Section section{*this};
    TimeoutWord word = TimeoutWord::of(entry);
    if (word.state() == TimeoutState::running) {
        if (!static_cast<TimeoutNode&>(entry).isPeriodic()) return Cancelled::no;
        TimeoutWord{word.deadline(), TimeoutState::cancelled}.storeIn(entry);
        ++counters_.cancelled;
        return Cancelled::whileRunning;
    }
    if (!isPending(word.state())) return Cancelled::no;
    unlinkAndMark(entry, word);
    return Cancelled::yes;
}

void Shard::unlinkAndMark(TimeoutEntry& entry, TimeoutWord word) noexcept {
    unlink(entry, word.state());
    markCancelled(entry, word, TimeoutState::cancelled);
}

/// Marks an entry that was pending, and is in no list any more.
inline void Shard::markCancelled(TimeoutEntry& entry, TimeoutWord word,
                                 TimeoutState state) noexcept {
    // A push-back that slips in before this store counts as earlier; one after it finds a cancelled
    // entry.
    TimeoutWord{word.deadline(), state}.storeIn(entry);
    --pending_;
    ++counters_.cancelled;
    if (isObserved()) [[unlikely]]
        record(Stage::cancel, entry);
    if (isDrained()) drained_.notify();
}

// What is pending leaves its place in one hold. From then on it can only be cancelled: it does not
// expire, and move() cancels it. So what cancelAll() goes through becomes only less, whatever is
// scheduled meanwhile.

std::size_t Shard::cancelAll(TimerTaskList& ended) noexcept {
    std::size_t queued = gatherAll();
    std::size_t count = 0;
    for (bool more = true; more;) {
        Section section{*this};  // one for each chunk: others get the lock in between
        std::size_t budget = kChunk;
        for (; budget > 0; --budget) {
            TimeoutEntry* const entry = takeGathered(queued);
            if (entry == nullptr) break;
            cancelGathered(*entry);
        }
        more = budget == 0;
        count += std::exchange(cancelledCount_, 0);
        ended.takeAll(cancelledNodes_);
        if (!more) --gatherers_;
    }
    return count;
}

/// Returns how many tasks wait for an executor: they stay in their queue.
std::size_t Shard::gatherAll() noexcept {
    Section const section{*this};
    ++gatherers_;
    isTurningBack_ = false;  // what that has gathered is to be cancelled, too
    wheel_.gatherAll();
    gatherReady();
    // A periodic timeout that runs now ends with this run.
    running_.forEach([&](TimeoutEntry& entry) {
        TimeoutWord const word = TimeoutWord::of(entry);
        if (word.state() != TimeoutState::running || periodicNode(entry) == nullptr) return;
        TimeoutWord{word.deadline(), TimeoutState::cancelled}.storeIn(entry);
        ++counters_.cancelled;
        ++cancelledCount_;
    });
    return queue_.size();
}

void Shard::gatherReady() noexcept {
    for (TimerTaskList* list : {&due_, &arrivals_}) gatheredReady_.takeAll(*list);
}

/// The next entry to cancel, taken out; null if there is none. `queued` counts those that are still
/// to be taken from the executor's queue: what enters it later is behind them.
TimeoutEntry* Shard::takeGathered(std::size_t& queued) noexcept {
    if (TimerTaskEntry* const entry = wheel_.takeGathered())
        return static_cast<TimeoutEntry*>(entry);
    if (!gatheredReady_.empty()) return &static_cast<TimeoutEntry&>(gatheredReady_.takeFirst());
    queued = std::min(queued, queue_.size());
    if (queued == 0) return nullptr;
    --queued;
    return &queue_.takeFirst();
}

/// Cancels an entry that is in no list any more, for the cancelAll() that is under way.
void Shard::cancelGathered(TimeoutEntry& entry) noexcept {
    bool const isHook = entry.isHook();
    TimeoutState const state = isHook ? TimeoutState::cancelled : TimeoutState::cancelling;
    markCancelled(entry, TimeoutWord::of(entry), state);  // a hook's owner may destroy it now
    context_.limit.release();
    ++cancelledCount_;
    if (isHook)
        keepGivenUp(static_cast<HookEntry&>(entry));
    else
        cancelledNodes_.add(entry);
}

/// Ends a node that a cancelAll() has cancelled, unless another thread has ended it.
void Shard::endIfCancelling(TimeoutNode& node) noexcept {
    TimeoutWord word = TimeoutWord::of(node);
    if (word.state() == TimeoutState::cancelling &&
        TimeoutWord{word.deadline(), TimeoutState::cancelled}.replace(node, word))
        endCancelledTask(of(node)->context(), node);
}

void Shard::endAll(TimerTaskList& ended) noexcept {
    while (!ended.empty()) {
        auto& node = static_cast<TimeoutNode&>(ended.takeFirst());
        endIfCancelling(node);
        release(node);
    }
}

/// Unlinks a pending entry from the list that its state names.
void Shard::unlink(TimeoutEntry& entry, TimeoutState state) noexcept {
    if (state == TimeoutState::pending) return wheel_.remove(entry);
    if (state == TimeoutState::queued) return queue_.unlink(entry);
    TimerTaskList::remove(entry);
}

bool Shard::reschedule(TimeoutEntry& entry, Tick deadline) {
    if (pushBack(entry, deadline)) {
        context_.pushedBack.add();
        return true;
    }
    if (!isPending(TimeoutWord::of(entry).state())) return false;
    // A hook's timer may have stopped.
    return move(entry, deadline, context_.clock.callersNowOrFrozen());
}

/// Moves a pending entry. Returns false if a cancelAll() that is under way cancels it instead.
inline bool Shard::moveLocked(Section& section, TimeoutEntry& entry, TimeoutWord word,
                              Tick deadline, Clock::TimePoint now) {
    if (gatherers_ > 0) [[unlikely]] {
        unlink(entry, word.state());
        cancelGathered(entry);
        return false;
    }
    catchUp(section, now);
    // A deadline in the past becomes now: it must not overtake what has waited longer, here or in
    // another shard. It needs memory only if the driver is late by all that the levels reach: a
    // stop token's callback has nobody to tell that there is none.
    Tick const tickNow = context_.scale.nowToTick(now);
    if (deadline <= tickNow)
        reserveIfPossible(deadline = tickNow);
    else
        reserve(deadline);
    unlink(entry, word.state());
    // A push-back that slips in before this store counts as earlier; one after it is kept.
    TimeoutWord{deadline, TimeoutState::pending}.storeIn(entry);
    ++counters_.rescheduled;
    TimerTaskList const* const bucket = place(section, entry);
    if (isObserved()) [[unlikely]]
        recordIntake(entry, bucket);
    return true;
}

bool Shard::move(TimeoutEntry& entry, Tick deadline, Clock::TimePoint now) {
    if (!isPending(TimeoutWord::of(entry).state())) return false;
    Section section{*this};
    TimeoutWord const word = TimeoutWord::of(entry);
    return isPending(word.state()) && moveLocked(section, entry, word, deadline, now);
}

// ---- the driver's step ------------------------------------------------------------------------

void Shard::beginPass(RunFrame& pass) noexcept {
    Section section{*this};
    running_.add(pass);
    section.leanToThisThread();
}

void Shard::endPass(RunFrame& pass) noexcept {
    Section section{*this};
    endFrame(pass);
}

void Shard::admitArrivals() noexcept {
    Section section{*this};
    due_.takeAll(arrivals_);
}

Shard::Served Shard::serve(Tick limit, RunFrame& frame, std::size_t atMost) {
    Served served;
    {
        Section section{*this};
        if (context_.clock.mayGoBack()) {
            // The clock may have been set back since `limit` was read, and something accepted since
            // that is not due. It may be again during a run, so only one task is started.
            limit = std::min(limit, context_.tickNow());
            atMost = std::min<std::size_t>(atMost, 1);
        }
        served = serveLocked(section, limit, frame, atMost);
        publishReach();
        refreshNextWake();
    }
    frame.meter.finish();
    return served;
}

/// Alone, so that what locking takes leaves the registers to the loop.
Shard::Served Shard::serveLocked(Section& section, Tick limit, RunFrame& frame,
                                 std::size_t atMost) {
    Served served;
    if (isTurningBack_) [[unlikely]] {
        served.moved = placeGathered(section, kChunk);
        if (isTurningBack_) return served;
    }
    Tick tick = limit;
    // The limit may lie before the tick of a bucket that a bounded advance left half done.
    bool const isBehind = wheel_.currentTick() > limit;
    for (; served.moved < kChunk && served.started < atMost; ++served.moved) {
        TimeoutEntry* due = nullptr;
        if (isBehind || !wheel_.hasFlushed()) {
            // What was due on arrival comes before later buckets, but behind all others of its
            // own tick, so a task that is due again at once starves nobody.
            Tick const first = due_.empty() ? Tick::max() : due_.list(0).front().deadline();
            Tick const bucket = wheel_.nextExpiration().value_or(Tick::max());
            // While tasks ran, another shard may have got something due before a later tick.
            if (std::min(first, bucket) > tick) break;
            if (bucket <= first) {
                wake();
                if (!wheel_.hasFlushed()) continue;  // its entries were all cancelled
            } else {
                due = takeDue();
            }
        }
        if (due == nullptr) due = expireOrCascade();
        if (due == nullptr) continue;
        ++served.started;
        tick = due->deadline();
        if (context_.options.executor.isInline()) {
            --pending_;
            run(section, frame, *due);
        } else {
            ExecutorClaims::dispatch(*this, section, *due, TimeoutState::queued);
        }
    }
    return served;
}

/// Takes the entries out of the earliest bucket, if any are left: all may have been cancelled.
void Shard::wake() noexcept {
    flush_ = wheel_.flush(Tick::max());
    if (isObserved()) [[unlikely]]
        recordWake(*flush_, wheel_.currentTick());
}

/// Takes the first entry that was due on arrival.
TimeoutEntry* Shard::takeDue() noexcept {
    auto& entry = static_cast<TimeoutEntry&>(due_.takeFirst());
    if (isObserved()) [[unlikely]]
        record(Stage::expire, entry);
    return &entry;
}

/// Takes the next entry of the flushed bucket. Returns it if it has expired; otherwise cascades it
/// and returns null.
TimeoutEntry* Shard::expireOrCascade() noexcept {
    auto& entry = static_cast<TimeoutEntry&>(wheel_.nextFlushed());
    TimeoutWord word = TimeoutWord::of(entry);
    while (word.deadline() <= wheel_.currentTick()) {
        if (!expire(entry, word)) continue;
        wheel_.remove(entry);
        if (isObserved()) [[unlikely]]
            record(Stage::expire, entry);
        return &entry;
    }
    if (isObserved()) [[unlikely]]
        cascadeAndRecord(entry, word.deadline());
    else
        cascade(entry, word.deadline());
    return nullptr;
}

void Shard::cascadeAndRecord(TimeoutEntry& entry, Tick deadline) noexcept {
    TimerTaskList const& bucket = cascade(entry, deadline);
    recordPlace(bucket.level() < flush_->level() ? Stage::cascade : Stage::place, entry, bucket);
}

/// Marks an entry whose deadline has come. False if a push-back was faster; then `seen` is what
/// that left.
bool Shard::expire(TimeoutEntry& entry, TimeoutWord& seen) const noexcept {
    TimeoutWord const ready{seen.deadline(), TimeoutState::ready};
    if (pushBack_.isExpected()) return ready.replace(entry, seen);
    // Nobody else writes without the lock, so a store will do. It does not wait for other memory,
    // which saves 9 ns a timeout when a million expire at once.
    ready.storeIn(entry);
    return true;
}

void Shard::refreshNextWake() noexcept {
    Tick next =
        isTurningBack_ ? wheel_.currentTick() : wheel_.nextExpiration().value_or(Tick::max());
    for (TimerTaskList const* list : {&due_, &arrivals_})
        if (!list->empty()) next = std::min(next, list->list(0).front().deadline());
    nextWake_.set(next);
}

// ---- running ----------------------------------------------------------------------------------

/// Places a periodic timeout again, or keeps it for stop(). Returns false if it has ended.
bool Shard::scheduleNextRun(Section& section, TimeoutNode& node,
                            std::optional<NextRun> const& next) noexcept {
    if (TimeoutWord::of(node).state() != TimeoutState::running) return false;  // was cancelled
    bool const wasLast = !next;
    if (wasLast) {
        ++counters_.fired;
        return false;
    }
    if (gate_ == Gate::closed) {
        TimeoutWord{node.deadline(), TimeoutState::returned}.storeIn(node);
        if (isLateCollected_) {  // it destroyed its own timer, so stop() cannot take it any more
            ++counters_.returned;
            return false;
        }
        late_.add(node);
        return true;
    }
    // Otherwise a periodic timeout would keep drain() waiting for ever.
    if (gate_ == Gate::draining) {
        ++counters_.fired;
        return false;
    }
    catchUp(section, next->ended);
    reserveIfPossible(next->tick);
    node.periodicity().moveTo(*next);
    TimeoutWord{next->tick, TimeoutState::pending}.storeIn(node);
    ++pending_;
    TimerTaskList const* const bucket = place(section, node);
    if (isObserved()) [[unlikely]]
        recordIntake(node, bucket);
    return true;
}

void Shard::forget(HookEntry& hook) {
    Section section{*this};
    for (;;) {
        // The run that this waits for may schedule the hook anew.
        TimeoutWord const word = TimeoutWord::of(hook);
        if (isPending(word.state())) {
            unlinkAndMark(hook, word);
            context_.limit.release();
        } else if (hook.isQueued()) {
            TimerTaskList::remove(hook);  // the timer gave it up, and has not told its object yet
        }
        std::uint64_t const upTo = running_.runs();
        if (!running_.runsElsewhere(hook, upTo)) break;
        section.waitFor(runEnded_, [&] { return !running_.runsElsewhere(hook, upTo); });
    }
    running_.forget(hook);
}

bool Shard::isRunning(HookEntry const& hook) {
    Section section{*this};
    return running_.runs(hook);
}

// ---- starting, stopping, looking --------------------------------------------------------------

void Shard::open() {
    Section section{*this};
    if (gate_ == Gate::notStarted) gate_ = Gate::open;  // drain() may have been first
}

void Shard::beginDraining() {
    Section section{*this};
    if (gate_ == Gate::notStarted || gate_ == Gate::open) gate_ = Gate::draining;
}

void Shard::waitUntilDrained() {
    Section section{*this};
    section.waitFor(drained_, [&] { return isDrained() || gate_ == Gate::closed; });
}

void Shard::close(StoppedTimeouts& stopped) noexcept {
    for (bool more = true; more;) {
        Section section{*this};  // one for each chunk: others get the lock in between
        gate_ = Gate::closed;
        std::size_t budget = kChunk;
        for (; budget > 0; --budget) {
            TimeoutEntry* const entry = takePending();
            if (entry == nullptr) break;
            --pending_;
            returnTo(stopped, *entry);
        }
        more = budget == 0;
        refreshNextWake();
        drained_.notify();
    }
}

/// Takes any entry that counts as pending out of its list; null when there is none.
TimeoutEntry* Shard::takePending() noexcept {
    for (TimerTaskList* list : {&arrivals_, &due_, &gatheredReady_})
        if (!list->empty()) return &static_cast<TimeoutEntry&>(list->takeFirst());
    if (queue_.size() > 0) return &queue_.takeFirst();
    return static_cast<TimeoutEntry*>(wheel_.takeAny());
}

void Shard::collectLate(StoppedTimeouts& stopped) noexcept {
    Section section{*this};
    // A periodic timeout that runs now joins `late_` when its run ends.
    section.waitFor(runEnded_, [&] { return !running_.hasOfOtherThread(); });
    isLateCollected_ = true;
    while (!late_.empty()) returnTo(stopped, static_cast<TimeoutNode&>(late_.takeFirst()));
}

std::size_t Shard::pending() {
    Section section{*this};
    return pending_;
}

void Shard::readInto(TimerStatistics& statistics) {
    Section section{*this};
    counters_.readInto(statistics);
    statistics.pending += pending_;
    std::size_t const levels = wheel_.levels().size();
    if (statistics.cascaded.size() < levels) statistics.cascaded.resize(levels);
    for (std::size_t i = 0; i < levels; ++i) statistics.cascaded[i] += cascaded_[i];
}

void Shard::checkInvariants() {
    Section section{*this};
    wheel_.checkInvariants(RawTimingWheel::Deadlines::mayBeLater);
    std::size_t const queued = queue_.list().size();
    std::size_t const listed =
        wheel_.size() + arrivals_.size() + due_.size() + gatheredReady_.size() + queued;
    if (listed != pending_) throw std::logic_error{"pending is not what the lists hold"};
    if (queued != queue_.size()) throw std::logic_error{"the queue's size is not what is queued"};
    if (queue_.claims() < queue_.size()) throw std::logic_error{"fewer claims than queued tasks"};
    auto const earliest = wheel_.nextExpiration();
    if (earliest && nextWake() > *earliest)
        throw std::logic_error{"the next wake is later than a bucket"};
    for (TimerTaskList const* list : {&due_, &arrivals_})
        if (!list->empty() && nextWake() > list->list(0).front().deadline())
            throw std::logic_error{"the next wake is later than what is due"};
}

// ---- observing --------------------------------------------------------------------------------

/// Records that a deadline has become a tick and where the entry went: `bucket` is null if it is
/// due.
void Shard::recordIntake(TimeoutEntry const& entry, TimerTaskList const* bucket) noexcept {
    record(Stage::intake, entry);
    if (bucket != nullptr) recordPlace(Stage::place, entry, *bucket);
}

void Shard::recordPlace(Stage stage, TimeoutEntry const& entry,
                        TimerTaskList const& bucket) noexcept {
    TimerEvent event = eventOf(stage, &entry);
    if (stage == Stage::cascade) event.fromLevel = flush_->level();
    event.level = bucket.level();
    event.slot = bucket.slot();
    event.expiration = Tick{bucket.expiration()};
    record(event);
    // Every bucket that leaves the heap is recorded too. So if the heap holds more, this one was
    // armed.
    std::size_t const armed = wheel_.delayHeap().size();
    if (armed > armed_) {
        event.stage = Stage::arm;
        event.fromLevel = 0;
        record(event);
    }
    armed_ = armed;
}

void Shard::recordWake(TimerTaskList const& bucket, Tick expiration) noexcept {
    TimerEvent event = eventOf(Stage::wake, nullptr);
    event.level = bucket.level();
    event.slot = bucket.slot();
    event.expiration = expiration;
    record(event);
    armed_ = wheel_.delayHeap().size();
}

/// All buckets have left the heap, and their entries are to be placed again.
void Shard::recordRestart(Tick tick) noexcept {
    TimerEvent event = eventOf(Stage::restart, nullptr);
    event.expiration = tick;
    record(event);
    armed_ = 0;
}

/// When the clock passes buckets whose entries were all cancelled, they leave the heap: a wake is
/// recorded for each.
void Shard::advanceClockAndRecord(Tick tick) noexcept {
    std::vector<DelayHeap::Item> armed;
    try {
        if (wheel_.nextExpiration().value_or(Tick::max()) <= tick)
            armed = wheel_.delayHeap().items();
    } catch (std::bad_alloc const&) {
        // An observer that misses a step is better than a timeout that does.
    }
    wheel_.advanceClock(tick);
    std::erase_if(armed, [](DelayHeap::Item const& item) { return item.bucket->isArmed(); });
    std::sort(armed.begin(), armed.end(), [](DelayHeap::Item const& a, DelayHeap::Item const& b) {
        return a.expiration < b.expiration;
    });
    for (auto const& [expiration, bucket] : armed) recordWake(*bucket, Tick{expiration});
    armed_ = wheel_.delayHeap().size();
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
