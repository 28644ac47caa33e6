#include "core/driver/book/ShardBook.h"

#include <timingwheel/detail/platform/Prefetch.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::detail {

namespace {

/// What is due has got another deadline. A periodic timeout still counts from the one that it was
/// scheduled for, unless it was rescheduled since.
void noteDeadline(TimeoutEntry& entry, Tick before, Tick now) noexcept {
    TimeoutNode* const node = periodicNode(entry);
    if (node != nullptr && node->periodicity().scheduled == before)
        node->periodicity().scheduled = now;
}

}  // namespace

/// Out of line: seldom needed, it costs a move registers.
void ShardBook::unlinkDue(TimeoutEntry& entry, TimeoutState state) noexcept {
    if (state == TimeoutState::queued) return tasks_.queue.unlink(entry);
    if (state != TimeoutState::ready) return;
    readyCursor_.passOver(entry);
    TimerTaskList::remove(entry);
}

void ShardBook::catchUp(Tick now) noexcept {
    if (isObserved()) [[unlikely]]
        advanceClockAndRecord(now);
    else
        wheel_.advanceClock(now);
}

bool ShardBook::reserveIfPossible(Tick deadline) noexcept {
    try {
        return reserve(deadline);
    } catch (std::bad_alloc const&) {
        return false;  // costs extra cascades; the timeout is still on time
    }
}

/// Puts a pending entry where its deadline says: into a bucket, or among the arrivals if it is due.
ShardBook::Placed ShardBook::place(TimeoutEntry& entry) noexcept {
    TimeoutWord word = TimeoutWord::of(entry);
    for (;;) {
        Placement const placement = wheel_.place(entry, word.deadline());
        if (!placement.isDue()) {
            TimerTaskList const& bucket = placement.bucket();
            TIMINGWHEEL_PROBE_2(place, &entry, &bucket);
            if (!placement.isEarliest()) return {&bucket};
            return {&bucket, Tick{bucket.expiration()}};
        }
        // Due on arrival. Its deadline becomes the wheel's clock: that keeps the list in the order
        // of deadlines, and nothing is early after the clock went back.
        TimeoutWord const ready{wheel_.currentTick(), TimeoutState::ready};
        if (ready.replace(entry, word)) {
            noteDeadline(entry, word.deadline(), ready.deadline());
            arrivals_.add(entry);
            return {nullptr, ready.deadline()};
        }
    }
}

// ---- the driver's step ------------------------------------------------------------------------

/// Marks an entry whose deadline has come. False if a push-back was faster; then `seen` is what
/// that left.
inline bool ShardBook::expire(TimeoutEntry& entry, TimeoutWord& seen,
                              TimeoutState state) const noexcept {
    TimeoutWord const due{seen.deadline(), state};
    if (expectsPushBacks_) return due.replace(entry, seen);
    // Nobody else writes without the lock, so a store will do. It does not wait for other memory,
    // which saves 9 ns a timeout when a million expire at once.
    due.storeIn(entry);
    return true;
}

/// Takes an entry, the next of the flushed bucket, out. Returns it if it has expired; otherwise
/// cascades those that have not, and returns null.
inline TimeoutEntry* ShardBook::expireOrCascade(Turn& turn, TimeoutEntry& entry) noexcept {
    TimeoutWord word = TimeoutWord::of(entry);
    while (word.deadline() <= wheel_.currentTick()) {
        turn.isAtPeriodic = turn.leavesPeriodic && periodicNode(entry) != nullptr;
        if (turn.isAtPeriodic) return nullptr;
        if (!expire(entry, word, TimeoutState::ready)) continue;
        wheel_.remove(entry);
        if (isWatched()) [[unlikely]]
            noteAndRecord(Stage::expire, entry);
        return &entry;
    }
    if (isWatched()) [[unlikely]] {
        cascadeWatched(entry, word.deadline());
        ++turn.moved;
        return nullptr;
    }
    std::size_t left = kPerHold - turn.moved;
    cascaded_[flush_->level()] += wheel_.cascade(left);
    turn.moved = kPerHold - left;
    return nullptr;
}

TimeoutEntry* ShardBook::next(Turn& turn) noexcept {
    while (turn.moved < kPerHold) {
        TimeoutEntry* due = nullptr;
        TimerTaskEntry* flushed = turn.isBehind ? nullptr : wheel_.nextFlushed();
        if (flushed == nullptr) {
            // What was due on arrival comes before later buckets, but behind all others of its
            // own tick, so a task that is due again at once starves nobody.
            Tick const first = due_.empty() ? Tick::max() : due_.list(0).front().deadline();
            Tick const bucket = wheel_.nextExpiration().value_or(Tick::max());
            // While tasks ran, another shard may have got something due before a later tick.
            if (std::min(first, bucket) > turn.limit) return nullptr;
            if (bucket <= first) {
                wake();
                flushed = wheel_.nextFlushed();
                if (flushed == nullptr) {  // its entries were all cancelled
                    ++turn.moved;
                    continue;
                }
            } else {
                due = takeDue(turn);
                if (due == nullptr) return nullptr;
            }
        }
        if (flushed != nullptr) due = expireOrCascade(turn, static_cast<TimeoutEntry&>(*flushed));
        if (due == nullptr) {
            if (turn.isAtPeriodic) return nullptr;
            continue;
        }
        turn.limit = due->deadline();
        TIMINGWHEEL_PROBE_2(expire, due, turn.limit);
        ++turn.moved;
        return due;
    }
    return nullptr;
}

inline void ShardBook::addToChunk(TimeoutEntry& entry) noexcept {
    // Its task, or the object of its hook, comes from memory while others are taken.
    prefetchToWrite(entry.isHook() ? static_cast<HookEntry&>(entry).object : &entry + 1);
    chunk_.add(entry);
}

/// Adds what next() would return as long as it is in the flushed bucket: in a short loop.
inline void ShardBook::fillChunk(Turn& turn, std::size_t atMost) noexcept {
    Tick const now = wheel_.currentTick();
    while (chunk_.size() < atMost && !chunk_.isFull() && turn.moved < kPerHold) {
        TimerTaskEntry* const next = wheel_.nextFlushed();
        if (next == nullptr) return;
        auto& entry = static_cast<TimeoutEntry&>(*next);
        TimeoutWord word = TimeoutWord::of(entry);
        if (word.deadline() > now || periodicNode(entry) != nullptr) return;
        if (!expire(entry, word, TimeoutState::taken)) continue;
        wheel_.remove(entry);
        turn.limit = word.deadline();
        TIMINGWHEEL_PROBE_2(expire, &entry, turn.limit);
        ++turn.moved;
        addToChunk(entry);
    }
}

Chunk* ShardBook::nextChunk(Turn& turn, std::size_t atMost) noexcept {
    if (!chunk_.empty()) return nullptr;
    turn.leavesPeriodic = true;
    while (chunk_.size() < atMost && !chunk_.isFull()) {
        TimeoutEntry* const entry = next(turn);
        if (entry == nullptr) break;
        TimeoutWord{entry->deadline(), TimeoutState::taken}.storeIn(*entry);
        addToChunk(*entry);
        if (!isWatched() && !turn.isBehind) fillChunk(turn, atMost);
    }
    turn.leavesPeriodic = false;
    turn.isAtPeriodic = false;
    return chunk_.empty() ? nullptr : &chunk_;
}

std::size_t ShardBook::endChunk() noexcept {
    std::size_t const claimed = chunk_.end();
    tasks_.pending -= claimed;
    tasks_.counters.runs += claimed;
    tasks_.counters.fired += claimed;
    return claimed;
}

/// Takes an entry out of the chunk. Returns false if the driver has claimed it: then it is marked.
bool ShardBook::takeBack(TimeoutEntry& entry) noexcept {
    if (chunk_.takeBack(entry)) return true;
    chunk_.waitForMarks();
    return false;
}

/// Takes the entries out of the earliest bucket, if any are left: all may have been cancelled.
void ShardBook::wake() noexcept {
    flush_ = wheel_.flush(Tick::max());
    if (isObserved()) [[unlikely]]
        recordWake(*flush_, wheel_.currentTick());
}

/// Takes the first entry that was due on arrival, unless the turn leaves it.
TimeoutEntry* ShardBook::takeDue(Turn const& turn) noexcept {
    if (turn.leavesPeriodic &&
        periodicNode(static_cast<TimeoutEntry&>(due_.list(0).front())) != nullptr)
        return nullptr;
    auto& entry = static_cast<TimeoutEntry&>(due_.list(0).front());
    if (isWatched()) [[unlikely]] {
        readyCursor_.passOver(entry);
        noteAndRecord(Stage::expire, entry);
    }
    TimerTaskList::remove(entry);
    return &entry;
}

void ShardBook::noteAndRecord(Stage stage, TimeoutEntry& entry) noexcept {
    note(entry);
    if (isObserved()) tasks_.events.record(stage, entry);
}

void ShardBook::cascadeWatched(TimeoutEntry& entry, Tick deadline) noexcept {
    note(entry);
    TimerTaskList const& bucket = cascade(entry, deadline);
    if (!isObserved()) return;
    recordPlace(bucket.level() < flush_->level() ? Stage::cascade : Stage::place, entry, bucket);
}

Tick ShardBook::nextWake() const noexcept {
    if (isTurningBack()) return wheel_.currentTick();
    Tick next = wheel_.nextExpiration().value_or(Tick::max());
    for (TimerTaskList const* const list : {&due_, &arrivals_})
        if (!list->empty()) next = std::min(next, list->list(0).front().deadline());
    return next;
}

ShardBook::Fate ShardBook::fateOf(TimeoutNode& node, bool hasNext) noexcept {
    if (TimeoutWord::of(node).state() != TimeoutState::running) return Fate::ended;  // cancelled
    if (gate_ == Gate::closed && hasNext) {
        TimeoutWord{node.deadline(), TimeoutState::returned}.storeIn(node);
        if (isLateTaken_) {  // it destroyed its own timer, so stop() cannot take it any more
            ++tasks_.counters.returned;
            return Fate::ended;
        }
        late_.add(node);
        return Fate::kept;
    }
    // Otherwise a periodic timeout would keep drain() waiting for ever. One that is still corrected
    // was left out: it has not run.
    if (hasNext && (gate_ != Gate::draining || node.periodicity().isCorrected)) return Fate::again;
    ++tasks_.counters.fired;
    return Fate::ended;
}

Tick ShardBook::again(TimeoutNode& node, NextRun const& next) noexcept {
    node.periodicity().moveTo(next);
    TimeoutWord{next.tick, TimeoutState::pending}.storeIn(node);
    ++tasks_.pending;
    return placeAgain(node);
}

// ---- a clock that was set back ----------------------------------------------------------------

Tick ShardBook::turnBack(Tick tick, bool isCorrection) noexcept {
    gathering_.beginTurnBack(isCorrection);
    wheel_.restart(tick);
    // It relies on where each entry stands in the list of its bucket.
    if (walk_ != nullptr) walk_->miss();
    gatherReady();
    if (isObserved()) [[unlikely]]
        recordRestart(tick);
    return tick;
}

void ShardBook::placeGathered(Turn& turn) noexcept {
    for (; turn.moved < kPerHold; ++turn.moved) {
        if (TimeoutEntry* const ready = takeGatheredReady()) {
            note(*ready);
            makeDue(*ready);
        } else if (TimerTaskEntry* const gathered = wheel_.takeGathered()) {
            auto& entry = static_cast<TimeoutEntry&>(*gathered);
            note(entry);
            if (gathering_.isCorrection() && correct(entry)) continue;
            reserveIfPossible(TimeoutWord::of(entry).deadline());
            TimerTaskList const* const bucket = place(entry).bucket;
            if (isObserved() && bucket != nullptr) [[unlikely]]
                recordPlace(Stage::place, entry, *bucket);
        } else {
            return gathering_.endTurnBack();
        }
    }
}

/// What was due before the clock was set back is due now.
void ShardBook::makeDue(TimeoutEntry& entry) noexcept {
    noteDeadline(entry, TimeoutWord::of(entry).deadline(), wheel_.currentTick());
    TimeoutWord{wheel_.currentTick(), TimeoutState::ready}.storeIn(entry);
    due_.add(entry);
}

/// Makes a gathered entry that computes its times due, to compute the next one anew. Returns false
/// for all others.
bool ShardBook::correct(TimeoutEntry& entry) noexcept {
    TimeoutNode* const node = periodicNode(entry);
    if (node == nullptr) return false;
    TimeoutWord const due{wheel_.currentTick(), TimeoutState::ready};
    TimeoutWord word = TimeoutWord::of(entry);
    do {  // a push-back may slip in: then it stays where that has put it
        if (!node->periodicity().correct(word.deadline(), due.deadline())) return false;
    } while (!due.replace(entry, word));
    due_.add(entry);
    return true;
}

// ---- cancelAll() ------------------------------------------------------------------------------

std::size_t ShardBook::beginCancelAll() noexcept {
    gathering_.beginCancelAll();
    wheel_.gatherAll();
    gatherReady();
    tasks_.running.forEach([&](TimeoutEntry& entry) {
        TimeoutWord const word = TimeoutWord::of(entry);
        if (word.state() != TimeoutState::running || periodicNode(entry) == nullptr) return;
        cancelRunning(entry, word);
        gathering_.countCancelled();
    });
    return tasks_.queue.size();
}

bool ShardBook::cancelNext(std::size_t& queued) noexcept {
    auto* entry = static_cast<TimeoutEntry*>(wheel_.takeGathered());
    if (entry == nullptr) entry = takeGatheredReady();
    if (entry == nullptr) entry = chunk_.takeBackAny();
    if (entry == nullptr) {
        queued = std::min(queued, tasks_.queue.size());
        if (queued == 0) return false;
        --queued;
        entry = &tasks_.queue.takeFirst();
    }
    cancelGathered(*entry);
    return true;
}

void ShardBook::endCancelAll() noexcept {
    gathering_.endCancelAll();
    chunk_.waitForMarks();  // what could not be cancelled, because it runs, is not pending
}

/// Cancels an entry that is in no list any more, for the cancelAll() that is under way.
void ShardBook::cancelGathered(TimeoutEntry& entry) noexcept {
    bool const isHook = entry.isHook();
    TimeoutState const state = isHook ? TimeoutState::cancelled : TimeoutState::cancelling;
    markCancelled(entry, TimeoutWord::of(entry), state);
    if (!isHook) return gathering_.addCancelled(entry);
    gathering_.countCancelled();
    keepGivenUp(static_cast<HookEntry&>(entry));
}

TimeoutEntry* ShardBook::takeGatheredReady() noexcept {
    if (!gathering_.ready().empty()) readyCursor_.passOver(gathering_.ready().list(0).front());
    return gathering_.takeReady();
}

// ---- stop() -----------------------------------------------------------------------------------

TimeoutEntry* ShardBook::takePending() noexcept {
    auto const take = [this]() -> TimeoutEntry* {
        for (TimerTaskList* const list : {&arrivals_, &due_}) {
            if (list->empty()) continue;
            readyCursor_.passOver(list->list(0).front());
            return &static_cast<TimeoutEntry&>(list->takeFirst());
        }
        if (TimeoutEntry* const ready = takeGatheredReady()) return ready;
        if (TimeoutEntry* const taken = chunk_.takeBackAny()) return taken;
        if (tasks_.queue.size() > 0) return &tasks_.queue.takeFirst();
        return static_cast<TimeoutEntry*>(wheel_.takeAny());
    };
    TimeoutEntry* const entry = take();
    if (entry == nullptr)
        gathering_.endTurnBack();  // nothing waits for its place any more
    else
        --tasks_.pending;
    return entry;
}

TimeoutNode* ShardBook::takeLate() noexcept {
    return late_.empty() ? nullptr : &static_cast<TimeoutNode&>(late_.takeFirst());
}

// ---- looking ----------------------------------------------------------------------------------

Tick ShardBook::beginWalk(PendingWalk& walk) noexcept {
    walk_ = &walk;
    isWatched_ = true;
    readyCursor_.reset();
    tasks_.queue.cursor().reset();
    // The driver may enter what is in the chunk at any moment, so that cannot be looked at.
    TimerTaskList back;
    while (TimeoutEntry* const entry = chunk_.takeBackAny()) {
        TimeoutWord{entry->deadline(), TimeoutState::ready}.storeIn(*entry);
        back.add(*entry);
    }
    chunk_.waitForMarks();  // so that nothing is pending that is not shown
    if (back.empty()) return Tick::max();
    if (isCancellingAll()) {  // it is cancelled with what was due
        gathering_.gather(back);
        return Tick::max();
    }
    // It is due before all else.
    TimerTaskList::List& due = due_.list(0);
    due.splice(due.begin(), back.list(0));
    return due_.list(0).front().deadline();
}

bool ShardBook::walkOn(PendingWalk& walk) noexcept {
    walk.begin();
    // In this order: see PendingWalk.
    return walk.through(wheel_) &&
           walk.along(readyCursor_, std::array<TimerTaskList const*, 3>{&arrivals_, &due_,
                                                                        &gathering_.ready()}) &&
           walk.along(tasks_.queue.cursor(),
                      std::array<TimerTaskList const*, 1>{&tasks_.queue.list()});
}

void ShardBook::endWalk() noexcept {
    walk_ = nullptr;
    isWatched_ = isObserved();
    readyCursor_.reset();
    tasks_.queue.cursor().reset();
}

void ShardBook::readInto(TimerStatistics& statistics) const {
    tasks_.counters.readInto(statistics);
    // What the driver has claimed is counted when it is through with its chunk.
    std::size_t const claimed = chunk_.claimed();
    statistics.runs += claimed;
    statistics.fired += claimed;
    statistics.pending += tasks_.pending - claimed;
    std::size_t const levels = wheel_.levels().size();
    if (statistics.cascaded.size() < levels) statistics.cascaded.resize(levels);
    for (std::size_t i = 0; i < levels; ++i) statistics.cascaded[i] += cascaded_[i];
}

void ShardBook::checkInvariants(Tick published) const {
    wheel_.checkInvariants(RawTimingWheel::Deadlines::mayBeLater);
    ExecutorQueue const& queue = tasks_.queue;
    std::size_t const queued = queue.list().size();
    std::size_t const listed = wheel_.size() + arrivals_.size() + due_.size() +
                               gathering_.ready().size() + chunk_.size() + queued;
    if (listed != tasks_.pending) throw std::logic_error{"pending is not what the lists hold"};
    if (queued != queue.size()) throw std::logic_error{"the queue's size is not what is queued"};
    if (queue.claims() < queue.size()) throw std::logic_error{"fewer claims than queued tasks"};
    auto const earliest = wheel_.nextExpiration();
    if (earliest && published > *earliest)
        throw std::logic_error{"the next wake is later than a bucket"};
    for (TimerTaskList const* const list : {&due_, &arrivals_})
        if (!list->empty() && published > list->list(0).front().deadline())
            throw std::logic_error{"the next wake is later than what is due"};
}

// ---- observing --------------------------------------------------------------------------------

/// Places an entry. Records that it was scheduled, if it is new, that its deadline has become a
/// tick, and where it went.
Tick ShardBook::placeAndRecord(TimeoutEntry& entry, bool isNew) noexcept {
    Placed const placed = place(entry);
    if (isNew) tasks_.events.record(Stage::schedule, entry);
    tasks_.events.record(Stage::intake, entry);
    if (placed.bucket != nullptr) recordPlace(Stage::place, entry, *placed.bucket);
    return placed.wake;
}

void ShardBook::recordPlace(Stage stage, TimeoutEntry const& entry,
                            TimerTaskList const& bucket) noexcept {
    TimerEvent event = tasks_.events.eventOf(stage, &entry);
    if (stage == Stage::cascade) event.fromLevel = flush_->level();
    event.level = bucket.level();
    event.slot = bucket.slot();
    event.expiration = Tick{bucket.expiration()};
    tasks_.events.record(event);
    // Every bucket that leaves the heap is recorded too. So if the heap holds more, this one was
    // armed.
    std::size_t const armed = wheel_.delayHeap().size();
    if (armed > armed_) {
        event.stage = Stage::arm;
        event.fromLevel = 0;
        tasks_.events.record(event);
    }
    armed_ = armed;
}

void ShardBook::recordWake(TimerTaskList const& bucket, Tick expiration) noexcept {
    TimerEvent event = tasks_.events.eventOf(Stage::wake, nullptr);
    event.level = bucket.level();
    event.slot = bucket.slot();
    event.expiration = expiration;
    tasks_.events.record(event);
    armed_ = wheel_.delayHeap().size();
}

/// All buckets have left the heap, and their entries are to be placed again.
void ShardBook::recordRestart(Tick tick) noexcept {
    TimerEvent event = tasks_.events.eventOf(Stage::restart, nullptr);
    event.expiration = tick;
    tasks_.events.record(event);
    armed_ = 0;
}

/// When the clock passes buckets whose entries were all cancelled, they leave the heap: a wake is
/// recorded for each.
void ShardBook::advanceClockAndRecord(Tick tick) noexcept {
    std::vector<DelayHeap::Item> armed;
    try {
        if (wheel_.nextExpiration().value_or(Tick::max()) <= tick)
            wheel_.delayHeap().forEach([&](DelayHeap::Item const& item) { armed.push_back(item); });
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

}  // namespace timingwheel::inline v1::detail
