#include "driver/Shard.h"

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

using Stage = TimerEvent::Stage;

/// A hold of the shard's lock. What is owed to the outside when it ends is done after unlocking:
/// recorded events are delivered, the driver is woken if the key became earlier, and a node that
/// has ended is let go.
class Shard::Section {
public:
    explicit Section(Shard& shard) noexcept : shard_{shard} { lock(); }
    Section(Section const&) = delete;
    Section& operator=(Section const&) = delete;
    ~Section() { unlock(); }

    void lock() noexcept {
        if (shard_.context_.isConcurrent) shard_.mutex_.lock();
    }
    void unlock() noexcept {
        Tick const ring = std::exchange(ring_, Tick::max());
        TimeoutNode* const ended = std::exchange(ended_, nullptr);
        if (shard_.observer_ != nullptr) [[unlikely]]
            return unlockAndDeliver(ring, ended);
        if (shard_.context_.isConcurrent) shard_.mutex_.unlock();
        if (ring != Tick::max()) shard_.context_.alarm.ring(ring);
        if (ended != nullptr) ended->release();
    }
    /// The driver must come by then.
    void ringBy(Tick tick) noexcept { ring_ = std::min(ring_, tick); }
    /// The driver's reference to a node that has ended is to be dropped.
    void releaseLater(TimeoutNode& node) noexcept { ended_ = &node; }

    /// Waits until `condition`, which somebody else brings about and then notifies `signal`.
    template <class Condition>
    void waitFor(Signal& signal, Condition&& condition) {
        std::unique_lock<std::mutex> lock{shard_.mutex_, std::adopt_lock};
        ++signal.waiters;
        signal.happened.wait(lock, condition);
        --signal.waiters;
        lock.release();
    }

private:
    void unlockAndDeliver(Tick ring, TimeoutNode* ended) noexcept {
        std::vector<TimerEvent> const events = std::exchange(shard_.events_, {});
        TimerObserver& observer = *shard_.observer_;
        if (shard_.context_.isConcurrent) shard_.mutex_.unlock();
        if (ring != Tick::max()) shard_.context_.alarm.ring(ring);
        for (TimerEvent const& event : events) observer.onEvent(event);
        if (ended != nullptr) ended->release();
    }

    Shard& shard_;
    Tick ring_ = Tick::max();
    TimeoutNode* ended_ = nullptr;
};

namespace {

/// A task that is being handed to the executor: if that refuses, the exception comes only after
/// the claim has died.
class Dispatch {
public:
    Dispatch(Shard& home, TimerContext& context) noexcept
        : shard{home}, frame{context}, outer_{std::exchange(current_, this)} {}
    Dispatch(Dispatch const&) = delete;
    Dispatch& operator=(Dispatch const&) = delete;
    ~Dispatch() { current_ = outer_; }

    static Dispatch* current() noexcept { return current_; }

    /// While it lives, a task runs inside execute(): what is dropped there is not handed over.
    class Suspended {
    public:
        Suspended() noexcept : dispatch_{std::exchange(current_, nullptr)} {}
        Suspended(Suspended const&) = delete;
        Suspended& operator=(Suspended const&) = delete;
        ~Suspended() { current_ = dispatch_; }

    private:
        Dispatch* dispatch_;
    };

    Shard& shard;
    RunFrame frame;
    TaskSubject rejected;
    bool hasRejected = false;

private:
    static thread_local Dispatch* current_;
    Dispatch* outer_;
};
thread_local Dispatch* Dispatch::current_ = nullptr;

TimeoutNode* periodicNode(TimeoutEntry& entry) noexcept {
    if (entry.isHook()) return nullptr;
    auto& node = static_cast<TimeoutNode&>(entry);
    return node.isPeriodic() ? &node : nullptr;
}

}  // namespace

Shard::Shard(TimerContext& context, std::uint32_t number)
    : context_{context},
      observer_{context.options.observer},
      number_{number},
      wheel_{TimingWheelOptions{.wheelSize = context.options.wheelSize, .start = Tick{0}}} {
    publishReach();
}

// ---- schedule, cancel, reschedule -------------------------------------------------------------

Shard::Gate Shard::schedule(TimeoutEntry& entry, Tick deadline, Tick farthest,
                            Clock::TimePoint now) {
    Section section{*this};
    if (gate_ != Gate::open) return gate_;
    catchUp(now);
    reserve(farthest);

    if (entry.shard.load(std::memory_order_relaxed) != this) {
        entry.shard.store(this, std::memory_order_release);
        ++madeShares_;
    }
    ++pending_;
    ++counters_.scheduled;
    TimeoutWord{deadline, TimeoutState::pending}.storeIn(entry);
    record(Stage::schedule, &entry, nullptr);
    record(Stage::intake, &entry, nullptr);
    put(entry, section);
    return Gate::open;
}

/// Builds the levels that `deadline` needs. Strong exception safety.
void Shard::reserve(Tick deadline) {
    if (deadline < wheel_.reach()) return;
    wheel_.reserve(deadline);
    publishReach();
}

void Shard::publishReach() noexcept {
    std::int64_t const reach = wheel_.reach().value();
    if (reach_.load(std::memory_order_relaxed) != reach)
        reach_.store(reach, std::memory_order_relaxed);
}

/// Moves the wheel's clock to now, as far as no bucket is in the way, so that an entry goes to the
/// lowest level that can hold it. Once a tick is enough.
void Shard::catchUp(Clock::TimePoint now) noexcept {
    if (now < catchUpAt_) return;
    Tick const tick = context_.scale.nowToTick(now);
    wheel_.advanceClock(tick);
    catchUpAt_ = context_.scale.timeOf(tick + 1);
}

/// Puts a pending entry where its deadline says: into a bucket, or among those that are due.
void Shard::put(TimeoutEntry& entry, Section& section) noexcept {
    TimeoutWord word = TimeoutWord::of(entry);
    for (;;) {
        if (word.deadline() > wheel_.currentTick()) {
            Placement const placement = wheel_.place(entry);
            record(Stage::place, &entry, &placement.bucket());
            if (!placement.isEarliest()) return;
            record(Stage::arm, &entry, &placement.bucket());
            Tick const expiration = wheel_.tickOf(placement.bucket().expiration());
            lowerKey(expiration);
            return section.ringBy(expiration);
        }
        // Due on arrival. Its deadline becomes the wheel's clock, so that the list is in the order
        // of deadlines, and so that nothing is early after the clock went back.
        TimeoutWord const ready{wheel_.currentTick(), TimeoutState::ready};
        if (ready.replace(entry, word)) {
            // A periodic one that was rescheduled to here keeps the mark of that.
            auto* const node = periodicNode(entry);
            if (node != nullptr && node->periodicity().scheduled == word.deadline())
                node->periodicity().scheduled = ready.deadline();
            arrivals_.add(entry);
            lowerKey(ready.deadline());
            return section.ringBy(ready.deadline());
        }
    }
}

Shard::Cancelled Shard::cancel(TimeoutEntry& entry) noexcept {
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
    cancelPending(entry, word);
    return Cancelled::yes;
}

void Shard::cancelPending(TimeoutEntry& entry, TimeoutWord word) noexcept {
    takeOut(entry, word.state());
    while (!TimeoutWord{word.deadline(), TimeoutState::cancelled}.replace(entry, word)) {
    }
    --pending_;
    ++counters_.cancelled;
    if (isDrained()) drained_.notify();
}

/// Unlinks a pending entry from the list that its state says.
void Shard::takeOut(TimeoutEntry& entry, TimeoutState state) noexcept {
    if (state == TimeoutState::pending) return wheel_.remove(entry);
    TimerTaskList::remove(entry);
    if (state == TimeoutState::queued) --queuedCount_;
}

bool Shard::reschedule(TimeoutEntry& entry, Tick deadline) {
    // The push-back. The entry stays in its bucket and is placed again when that expires.
    TimeoutWord word = TimeoutWord::of(entry);
    while (word.state() == TimeoutState::pending && deadline >= word.deadline() &&
           deadline.value() < reach_.load(std::memory_order_relaxed)) {
        if (TimeoutWord{deadline, TimeoutState::pending}.replace(entry, word)) {
            pushedBack_.fetch_add(1, std::memory_order_relaxed);
            return true;
        }
    }
    if (!isPending(word.state())) return false;

    Clock::TimePoint const now = context_.now();
    Section section{*this};
    word = TimeoutWord::of(entry);
    if (!isPending(word.state())) return false;
    catchUp(now);
    // One in the past is due now: it must not overtake what has waited longer, here or elsewhere.
    deadline = std::max(deadline, context_.scale.nowToTick(now));
    reserve(deadline);
    takeOut(entry, word.state());
    // A push-back that slips in before this store came first; one after it is kept.
    TimeoutWord{deadline, TimeoutState::pending}.storeIn(entry);
    ++counters_.rescheduled;
    put(entry, section);
    return true;
}

void Shard::endCancelled(TimeoutNode& node) noexcept {
    context_.givePlace();
    detail::endCancelled(context_, node);
    node.release();
}

void Shard::destroy(TimeoutNode& node) noexcept {
    destroyTask(context_, node);
    node.release();
}

std::shared_ptr<TimerTask> Shard::sharedTask(TimeoutNode& node) {
    if (node.task().shared == nullptr) return nullptr;
    Section section{*this};
    TimeoutState const state = TimeoutWord::of(node).state();
    if (!isPending(state) && state != TimeoutState::running) return nullptr;
    return node.task().shared(node.taskAddress());
}

// ---- the driver's step ------------------------------------------------------------------------

void Shard::admitArrivals() noexcept {
    Section section{*this};
    due_.takeAll(arrivals_);
}

std::size_t Shard::step(Tick limit) noexcept {
    Section section{*this};
    std::size_t moved = 0;
    for (; moved < kChunk; ++moved) {
        if (!wheel_.hasFlushed() && !flushNext(limit)) {
            if (due_.empty() || due_.entries().front().deadline() > limit) break;
            ready_.add(due_.takeFirst());
            auto const& entry = static_cast<TimeoutEntry const&>(ready_.entries().back());
            record(Stage::expire, &entry, nullptr);
            continue;
        }
        if (!wheel_.hasFlushed()) continue;  // the bucket's entries were all cancelled
        collect(static_cast<TimeoutEntry&>(wheel_.takeFlushed()), *flush_);
    }
    publishReach();
    refreshKey();
    return moved;
}

/// Flushes the earliest bucket that expires by `limit` and not after the first of those that were
/// due on arrival: they come before later buckets, but not before all others of their own tick, so
/// that a task which is due again at once starves nobody.
bool Shard::flushNext(Tick limit) noexcept {
    Tick const first = due_.empty() ? Tick::max() : due_.entries().front().deadline();
    flush_ = wheel_.flush(std::min(limit, first));
    if (flush_ && observer_ != nullptr)
        record(Stage::wake, nullptr, &wheel_.levels()[flush_->level].buckets()[flush_->slot]);
    return flush_.has_value();
}

/// Takes an entry of an expired bucket: it is due and made ready, or it is placed again.
void Shard::collect(TimeoutEntry& entry, TimingWheelBase::Flush const& flush) noexcept {
    TimeoutWord word = TimeoutWord::of(entry);
    for (;;) {
        if (word.deadline() > wheel_.currentTick()) {
            TimerTaskList const& bucket = wheel_.place(entry).bucket();
            if (bucket.level() < flush.level) {
                ++cascaded_[flush.level];
                record(Stage::cascade, &entry, &bucket, flush.level);
            } else {
                record(Stage::place, &entry, &bucket);
            }
            return;
        }
        if (TimeoutWord{word.deadline(), TimeoutState::ready}.replace(entry, word)) {
            ready_.add(entry);
            return record(Stage::expire, &entry, nullptr);
        }
    }
}

void Shard::lowerKey(Tick tick) noexcept {
    if (tick.value() < key_.load(std::memory_order_relaxed))
        key_.store(tick.value(), std::memory_order_seq_cst);
}

void Shard::refreshKey() noexcept {
    Tick key = wheel_.nextExpiration().value_or(Tick::max());
    for (TimerTaskList const* list : {&ready_, &due_, &arrivals_})
        if (!list->empty()) key = std::min(key, list->entries().front().deadline());
    key_.store(key.value(), std::memory_order_seq_cst);
}

// ---- running ----------------------------------------------------------------------------------

std::size_t Shard::runReady(RunFrame& frame, std::size_t atMost) {
    std::size_t ran = 0;
    Section section{*this};
    for (; ran < atMost && !ready_.empty(); ++ran)
        runOne(section, frame, static_cast<TimeoutEntry&>(ready_.takeFirst()));
    if (ran > 0) refreshKey();
    return ran;
}

/// Runs one task. The section is held on entry and on return, and not while the task runs.
void Shard::runOne(Section& section, RunFrame& frame, TimeoutEntry& entry) {
    TaskRun run{context_, number_, entry};
    bool const isPeriodic = run.isPeriodic();
    --pending_;
    ++counters_.runs;
    if (!isPeriodic) ++counters_.fired;
    frame.entry = &entry;
    running_.add(frame);
    // A hook has ended from here on, and is not touched again: its task may destroy it.
    TimeoutState const state =
        run.node() == nullptr ? TimeoutState::expired : TimeoutState::running;
    TimeoutWord{run.deadline(), state}.storeIn(entry);
    section.unlock();

    if (!isPeriodic) context_.givePlace();
    run.invoke();
    if (run.node() != nullptr && !endRun(section, run)) return endFrame(frame);
    section.lock();
    endFrame(frame);
}

/// After the run of a node: places it again if it is periodic, and then holds the section and
/// returns false; otherwise destroys its task, before anybody who waits for the run is told.
bool Shard::endRun(Section& section, TaskRun const& run) {
    TimeoutNode& node = *run.node();
    if (node.isPeriodic() || node.task().shared != nullptr) {
        // Those whose task others may still ask for decide under the lock.
        section.lock();
        if (node.isPeriodic() && goesOn(node, run.ended(), section)) return false;
        if (TimeoutWord::of(node).state() == TimeoutState::running)
            TimeoutWord{run.deadline(), TimeoutState::expired}.storeIn(node);
        section.unlock();
        if (node.isPeriodic()) context_.givePlace();
        if (TimeoutWord::of(node).state() == TimeoutState::cancelled) tellCancelled(context_, node);
    } else {
        TimeoutWord{run.deadline(), TimeoutState::expired}.storeIn(node);
    }
    destroyTask(context_, node);
    section.releaseLater(node);  // not before the frame that names it has ended
    return true;
}

void Shard::endFrame(RunFrame& frame) noexcept {
    running_.remove(frame);
    runEnded_.notify();
    if (isDrained()) drained_.notify();
}

/// Places a periodic timeout again, or gives it to stop(). False if it has ended.
bool Shard::goesOn(TimeoutNode& node, Clock::TimePoint ended, Section& section) noexcept {
    if (TimeoutWord::of(node).state() != TimeoutState::running) return false;  // was cancelled
    if (gate_ == Gate::closed) {
        TimeoutWord{node.deadline(), TimeoutState::returned}.storeIn(node);
        if (isLateCollected_) {  // it destroyed its own timer: nobody is left to take it
            ++counters_.returned;
            return false;
        }
        late_.add(node);
        return true;
    }
    if (gate_ == Gate::draining) {
        ++counters_.fired;
        return false;
    }
    Periodicity& periodic = node.periodicity();
    auto const period = periodic.period;
    if (periodic.fixedDelay) {
        periodic.next = TickScale::add(ended, period);
    } else {
        // A reschedule moves the whole raster.
        if (periodic.scheduled != node.deadline())
            periodic.next = context_.scale.timeOf(node.deadline());
        Clock::TimePoint const next = TickScale::add(periodic.next, period);
        // Missed is a run whose tick has come, not one whose exact time lies just before it.
        bool const isMissed =
            context_.scale.deadlineToTick(next) <= context_.scale.nowToTick(ended);
        if (!isMissed || periodic.missed == MissedTicks::catchUp) {
            periodic.next = next;
        } else if (periodic.missed == MissedTicks::shift) {
            periodic.next = TickScale::add(ended, period);
        } else {
            auto const behind = TickScale::between(next, ended);
            periodic.next = TickScale::add(ended, period - behind % period);
        }
    }
    catchUp(ended);
    periodic.scheduled = context_.scale.deadlineToTick(periodic.next);
    TimeoutWord{periodic.scheduled, TimeoutState::pending}.storeIn(node);
    ++pending_;
    put(node, section);
    return true;
}

void Shard::waitForRun(TimeoutEntry const& entry) {
    Section section{*this};
    std::uint64_t const upTo = running_.runs();
    if (running_.runsElsewhere(entry, upTo))
        section.waitFor(runEnded_, [&] { return !running_.runsElsewhere(entry, upTo); });
}

void Shard::forget(HookEntry& hook) {
    Section section{*this};
    for (;;) {
        // A run that is waited for may schedule the hook anew.
        TimeoutWord const word = TimeoutWord::of(hook);
        if (isPending(word.state())) {
            cancelPending(hook, word);
            context_.givePlace();
        }
        std::uint64_t const upTo = running_.runs();
        if (!running_.runsElsewhere(hook, upTo)) break;
        section.waitFor(runEnded_, [&] { return !running_.runsElsewhere(hook, upTo); });
    }
    running_.forget(hook);
}

bool Shard::isRunning(TimeoutEntry const& entry) {
    Section section{*this};
    return running_.runs(entry);
}

// ---- executors --------------------------------------------------------------------------------

std::size_t Shard::dispatch() {
    for (std::size_t dispatched = 0;; ++dispatched) {
        {
            Section section{*this};
            if (ready_.empty()) {
                refreshKey();
                return dispatched;
            }
            auto& entry = static_cast<TimeoutEntry&>(ready_.takeFirst());
            TimeoutWord{entry.deadline(), TimeoutState::queued}.storeIn(entry);
            queued_.add(entry);
            ++queuedCount_;
            ++claims_;
            context_.claims.fetch_add(1, std::memory_order_relaxed);
            context_.retain();
            record(Stage::dispatch, &entry, nullptr);
        }
        Dispatch dispatch{*this, context_};
        std::exception_ptr exception;
        try {
            context_.options.executor.execute(Claim{*this});
        } catch (...) {
            exception = std::current_exception();
        }
        if (dispatch.hasRejected)
            endRejected(dispatch.frame, dispatch.rejected, exception);
        else if (exception)
            context_.reportFailure({TaskFailure::Kind::executorThrew, exception});
    }
}

void Shard::copyClaim() noexcept {
    Section section{*this};
    ++claims_;
    context_.claims.fetch_add(1, std::memory_order_relaxed);
    context_.retain();
}

/// A claim died unrun. If there are fewer claims now than queued tasks, the newest is rejected.
void Shard::dropClaim() noexcept {
    // Of several that die while one is being handed over, the newest is that one: dispatch() will
    // know the exception.
    Dispatch* const dispatch = Dispatch::current();
    bool const isHandedOver =
        dispatch != nullptr && &dispatch->shard == this && !dispatch->hasRejected;
    {
        RunFrame frame{context_};
        RunFrame& runner = isHandedOver ? dispatch->frame : frame;
        bool hasRejected = false;
        TaskSubject const subject = rejectSurplus(runner, hasRejected);
        if (hasRejected) {
            context_.givePlace();
            if (isHandedOver) {
                dispatch->hasRejected = true;
                dispatch->rejected = subject;
            } else {
                endRejected(frame, subject, nullptr);
            }
        }
    }
    if (context_.claims.fetch_sub(1, std::memory_order_acq_rel) == 1)
        context_.alarm.restMayHaveCome();
    context_.release();
}

/// Gives a claim up, and with it the newest queued task if no claim is left for that. `frame`
/// stands for the rejection until it has been told: stop() and cancelAndWait() wait for it.
TaskSubject Shard::rejectSurplus(RunFrame& frame, bool& hasRejected) noexcept {
    Section section{*this};
    --claims_;
    if (claims_ >= queuedCount_) return {};
    auto& entry = static_cast<TimeoutEntry&>(queued_.takeLast());
    --queuedCount_;
    --pending_;
    ++counters_.rejected;
    hasRejected = true;
    TaskSubject const subject{entry};
    frame.entry = subject.node;
    running_.add(frame);
    TimeoutWord{entry.deadline(), TimeoutState::rejected}.storeIn(entry);
    return subject;
}

void Shard::endRejected(RunFrame& frame, TaskSubject const& subject,
                        std::exception_ptr exception) noexcept {
    tellRejected(context_, subject, std::move(exception));
    if (subject.node != nullptr) destroyTask(context_, *subject.node);
    Section section{*this};
    endFrame(frame);
    if (subject.node != nullptr) section.releaseLater(*subject.node);
}

void Shard::runClaim() noexcept {
    Dispatch::Suspended const suspended;
    {
        RunFrame frame{context_};
        Section section{*this};
        --claims_;
        if (!queued_.empty()) {
            --queuedCount_;
            runOne(section, frame, static_cast<TimeoutEntry&>(queued_.takeFirst()));
        }
    }
    if (context_.claims.fetch_sub(1, std::memory_order_acq_rel) == 1)
        context_.alarm.restMayHaveCome();
    context_.release();
}

// ---- starting, stopping, looking --------------------------------------------------------------

void Shard::open() {
    Section section{*this};
    if (gate_ == Gate::notStarted) gate_ = Gate::open;
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
        Section section{*this};
        gate_ = Gate::closed;
        std::size_t budget = kChunk;
        returnFrom(arrivals_, stopped, budget);
        returnFrom(due_, stopped, budget);
        returnFrom(ready_, stopped, budget);
        std::size_t const before = budget;
        returnFrom(queued_, stopped, budget);
        queuedCount_ -= before - budget;
        for (; budget > 0; --budget) {
            TimerTaskEntry* const entry = wheel_.takeAny();
            if (entry == nullptr) break;
            returnOne(static_cast<TimeoutEntry&>(*entry), stopped);
        }
        more = budget == 0;
        refreshKey();
        drained_.notify();
    }
}

void Shard::returnFrom(TimerTaskList& list, StoppedTimeouts& stopped,
                       std::size_t& budget) noexcept {
    for (; budget > 0 && !list.empty(); --budget)
        returnOne(static_cast<TimeoutEntry&>(list.takeFirst()), stopped);
}

void Shard::returnOne(TimeoutEntry& entry, StoppedTimeouts& stopped) noexcept {
    --pending_;
    ++counters_.returned;
    context_.givePlace();
    bool const isHook = entry.isHook();
    TimeoutWord word = TimeoutWord::of(entry);
    while (!TimeoutWord{word.deadline(), TimeoutState::returned}.replace(entry, word)) {
    }
    if (isHook) {
        stopped.addHook();
    } else {
        stopped.add(static_cast<TimeoutNode&>(entry));
    }
}

void Shard::collectLate(StoppedTimeouts& stopped) noexcept {
    Section section{*this};
    section.waitFor(runEnded_, [&] { return !running_.hasOfOtherThread(); });
    isLateCollected_ = true;
    while (!late_.empty()) {
        stopped.add(static_cast<TimeoutNode&>(late_.takeFirst()));
        ++counters_.returned;
        context_.givePlace();
    }
}

std::size_t Shard::pending() {
    Section section{*this};
    return pending_;
}

void Shard::readInto(TimerStatistics& statistics) {
    Section section{*this};
    statistics.pending += pending_;
    statistics.scheduled += counters_.scheduled;
    statistics.fired += counters_.fired;
    statistics.runs += counters_.runs;
    statistics.cancelled += counters_.cancelled;
    statistics.returned += counters_.returned;
    statistics.rejected += counters_.rejected;
    statistics.rescheduled += counters_.rescheduled + pushedBack_.load(std::memory_order_relaxed);
    std::size_t const levels = wheel_.levels().size();
    if (statistics.cascaded.size() < levels) statistics.cascaded.resize(levels);
    for (std::size_t i = 0; i < levels; ++i) statistics.cascaded[i] += cascaded_[i];
}

void Shard::checkInvariants() {
    Section section{*this};
    wheel_.checkInvariants(TimingWheelBase::Deadlines::mayBeLater);
    std::size_t const queued = queued_.entries().size();
    std::size_t const listed = wheel_.size() + arrivals_.entries().size() + due_.entries().size() +
                               ready_.entries().size() + queued;
    if (listed != pending_) throw std::logic_error{"pending is not what the lists hold"};
    if (queued != queuedCount_) throw std::logic_error{"queuedCount is not what is queued"};
    if (claims_ < queuedCount_) throw std::logic_error{"fewer claims than queued tasks"};
    auto const earliest = wheel_.nextExpiration();
    if (earliest && key() > *earliest) throw std::logic_error{"the key is later than a bucket"};
    for (TimerTaskList const* list : {&due_, &arrivals_})
        if (!list->empty() && key() > list->entries().front().deadline())
            throw std::logic_error{"the key is later than what is due"};
}

// ---- shares -----------------------------------------------------------------------------------

void Shard::dropShare() noexcept {
    // Counts up from 0 while the timer lives and up to 0 after it is gone.
    if (droppedShares_.fetch_add(1, std::memory_order_acq_rel) == -1) context_.release();
}

void Shard::orphan() noexcept {
    std::int64_t made = 0;
    {
        Section section{*this};
        made = madeShares_;
    }
    if (droppedShares_.fetch_sub(made, std::memory_order_acq_rel) == made) context_.release();
}

// ---- observing --------------------------------------------------------------------------------

void Shard::note(Stage stage, TimeoutEntry const* entry, TimerTaskList const* bucket,
                 std::uint32_t fromLevel) noexcept {
    TimerEvent event{.stage = stage, .shard = number_, .entry = entry, .time = context_.now()};
    event.fromLevel = fromLevel;
    if (entry != nullptr) event.deadline = entry->deadline();
    if (bucket != nullptr) {
        event.level = bucket->level();
        event.slot = bucket->slot();
        event.expiration =
            bucket->isArmed() ? wheel_.tickOf(bucket->expiration()) : wheel_.currentTick();
    }
    try {
        events_.push_back(event);
    } catch (std::bad_alloc const&) {
        // An observer that misses a step is better than a timeout that does.
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
