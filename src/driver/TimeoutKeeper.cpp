#include "driver/TimeoutKeeper.h"

#include <new>

namespace timingwheel {
inline namespace v1 {
namespace detail {

using Stage = TimerEvent::Stage;

namespace {

/// A task that is being handed to the executor: if that refuses, the exception comes only after
/// the claim has died.
class Dispatch {
public:
    Dispatch(TimeoutKeeper& home, TimerContext& context) noexcept
        : keeper{home}, frame{context}, outer_{std::exchange(current_, this)} {}
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

    TimeoutKeeper& keeper;
    RunFrame frame;
    TaskSubject rejected;
    bool hasRejected = false;

private:
    static thread_local Dispatch* current_;
    Dispatch* outer_;
};
thread_local Dispatch* Dispatch::current_ = nullptr;

}  // namespace

TimeoutKeeper::TimeoutKeeper(TimerContext& context, std::uint32_t number)
    : context_{context},
      observer_{context.options.observer},
      owedAtLeast_{isObserved() ? kOnlyEvents : kNothing},
      number_{number} {}

bool TimeoutKeeper::goesOn(TimeoutNode&, Clock::TimePoint, Section&) noexcept { return false; }

// ---- running ----------------------------------------------------------------------------------

void TimeoutKeeper::runOne(Section& section, RunFrame& frame, TimeoutEntry& entry) {
    TaskRun run{context_, number_, entry};
    bool const isPeriodic = run.isPeriodic();
    bool const holdsPlace = isPending(TimeoutWord::of(entry).state()) && !isPeriodic;
    ++counters_.runs;
    if (!isPeriodic) ++counters_.fired;
    frame.entry = &entry;
    running_.add(frame);
    // A hook has ended from here on, and is not touched again: its task may destroy it.
    TimeoutState const state =
        run.node() == nullptr ? TimeoutState::expired : TimeoutState::running;
    TimeoutWord{run.deadline(), state}.storeIn(entry);
    section.unlock();

    if (holdsPlace) context_.givePlace();
    run.invoke(frame.meter);
    if (isObserved() && !context_.hasStopped()) [[unlikely]]
        tellRun(section, run);
    if (run.node() != nullptr && !endRun(section, run)) return endFrame(frame);
    section.lock();
    endFrame(frame);
}

/// Tells of a run before anything else is done about it.
void TimeoutKeeper::tellRun(Section& section, TaskRun const& run) {
    section.lock();
    note(run.event());
    section.unlock();
}

/// After the run of a node: places it again if it is periodic, and then holds the section and
/// returns false; otherwise destroys its task, before anybody who waits for the run is told.
bool TimeoutKeeper::endRun(Section& section, TaskRun const& run) {
    TimeoutNode& node = *run.node();
    if (node.isPeriodic() || node.task().shared != nullptr) {
        // Those whose task others may still ask for decide under the lock.
        section.lock();
        if (node.isPeriodic() && goesOn(node, run.ended(), section)) return false;
        if (node.isPeriodic() && isObserved() && !context_.hasStopped()) [[unlikely]]
            note(Stage::cancel, node);
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

void TimeoutKeeper::endFrame(RunFrame& frame) noexcept {
    running_.remove(frame);
    runEnded_.notify();
    if (isDrained()) drained_.notify();
}

void TimeoutKeeper::waitForRun(TimeoutEntry const& entry) {
    Section section{*this};
    std::uint64_t const upTo = running_.runs();
    if (running_.runsElsewhere(entry, upTo))
        section.waitFor(runEnded_, [&] { return !running_.runsElsewhere(entry, upTo); });
}

void TimeoutKeeper::endCancelled(TimeoutNode& node) noexcept {
    bool const callsUser = node.hasDestructor() || node.task().cancelled != nullptr;
    detail::endCancelled(context_, node);
    // In what the user wrote the handle may have died by which this was called.
    if (callsUser) return node.release();
    node.giveUpDriversReference();
}

void TimeoutKeeper::destroy(TimeoutNode& node) noexcept {
    destroyTask(context_, node);
    node.release();
}

std::shared_ptr<TimerTask> TimeoutKeeper::sharedTask(TimeoutNode& node) {
    if (node.task().shared == nullptr) return nullptr;
    Section section{*this};
    TimeoutState const state = TimeoutWord::of(node).state();
    if (!isPending(state) && state != TimeoutState::handedOver && state != TimeoutState::running)
        return nullptr;
    return node.task().shared(node.taskAddress());
}

// ---- executors --------------------------------------------------------------------------------

void TimeoutKeeper::queue(TimeoutEntry& entry, TimeoutState state) noexcept {
    TimeoutWord{entry.deadline(), state}.storeIn(entry);
    queued_.add(entry);
    ++queuedCount_;
    ++claims_;
    context_.claims.fetch_add(1, std::memory_order_relaxed);
    context_.retain();
    if (isObserved()) [[unlikely]]
        note(Stage::dispatch, entry);
}

void TimeoutKeeper::submitClaim() {
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

void TimeoutKeeper::takeFromQueue(TimeoutEntry& entry) noexcept {
    TimerTaskList::remove(entry);
    --queuedCount_;
}

void TimeoutKeeper::copyClaim() noexcept {
    Section section{*this};
    ++claims_;
    context_.claims.fetch_add(1, std::memory_order_relaxed);
    context_.retain();
}

/// A claim died unrun. If there are fewer claims now than queued tasks, the newest is rejected.
void TimeoutKeeper::dropClaim() noexcept {
    // Of several that die while one is being handed over, the newest is that one: submitClaim()
    // will know the exception.
    Dispatch* const dispatch = Dispatch::current();
    bool const isHandedOver =
        dispatch != nullptr && &dispatch->keeper == this && !dispatch->hasRejected;
    {
        RunFrame frame{context_};
        Surplus const surplus = rejectSurplus(isHandedOver ? dispatch->frame : frame);
        if (surplus.exists && isHandedOver) {
            dispatch->hasRejected = true;
            dispatch->rejected = surplus.subject;
        } else if (surplus.exists) {
            endRejected(frame, surplus.subject, nullptr);
        }
    }
    if (context_.claims.fetch_sub(1, std::memory_order_acq_rel) == 1)
        context_.alarm.restMayHaveCome();
    context_.release();
}

/// Gives a claim up, and with it the newest queued task if no claim is left for that. `frame`
/// stands for the rejection until it has been told: stop() and cancelAndWait() wait for it.
TimeoutKeeper::Surplus TimeoutKeeper::rejectSurplus(RunFrame& frame) noexcept {
    Section section{*this};
    --claims_;
    if (claims_ >= queuedCount_) return {};
    auto& entry = static_cast<TimeoutEntry&>(queued_.takeLast());
    --queuedCount_;
    --pending_;
    ++counters_.rejected;
    Surplus const surplus{true, TaskSubject{entry}};
    frame.entry = surplus.subject.node;
    running_.add(frame);
    if (isPending(TimeoutWord::of(entry).state())) context_.givePlace();
    TimeoutWord{entry.deadline(), TimeoutState::rejected}.storeIn(entry);
    if (isObserved()) [[unlikely]]
        note(Stage::cancel, entry);
    return surplus;
}

void TimeoutKeeper::endRejected(RunFrame& frame, TaskSubject const& subject,
                                std::exception_ptr exception) noexcept {
    tellRejected(context_, subject, std::move(exception));
    if (subject.node != nullptr) destroyTask(context_, *subject.node);
    Section section{*this};
    endFrame(frame);
    if (subject.node != nullptr) section.releaseLater(*subject.node);
}

void TimeoutKeeper::runClaim() noexcept {
    Dispatch::Suspended const suspended;
    {
        RunFrame frame{context_};
        Section section{*this};
        --claims_;
        if (!queued_.empty()) {
            --queuedCount_;
            --pending_;
            runOne(section, frame, static_cast<TimeoutEntry&>(queued_.takeFirst()));
        }
    }
    if (context_.claims.fetch_sub(1, std::memory_order_acq_rel) == 1)
        context_.alarm.restMayHaveCome();
    context_.release();
}

// ---- stopping, looking ------------------------------------------------------------------------

void TimeoutKeeper::returnFrom(TimerTaskList& list, StoppedTimeouts& stopped,
                               std::size_t& budget) noexcept {
    for (; budget > 0 && !list.empty(); --budget)
        returnOne(static_cast<TimeoutEntry&>(list.takeFirst()), stopped);
}

void TimeoutKeeper::returnOne(TimeoutEntry& entry, StoppedTimeouts& stopped) noexcept {
    --pending_;
    static_cast<void>(handToStop(entry, stopped));
}

bool TimeoutKeeper::handToStop(TimeoutEntry& entry, StoppedTimeouts& stopped) noexcept {
    bool const isHook = entry.isHook();
    TimeoutWord word = TimeoutWord::of(entry);
    do {
        if (isCancelled(word.state())) return false;
    } while (!TimeoutWord{word.deadline(), TimeoutState::returned}.replace(entry, word));
    ++counters_.returned;
    if (isObserved()) [[unlikely]]
        note(Stage::cancel, entry);
    if (word.state() != TimeoutState::handedOver) context_.givePlace();
    if (isHook) {
        stopped.addHook();
    } else {
        stopped.add(static_cast<TimeoutNode&>(entry));
    }
    return true;
}

void TimeoutKeeper::returnQueued(StoppedTimeouts& stopped, std::size_t& budget) noexcept {
    std::size_t const before = budget;
    returnFrom(queued_, stopped, budget);
    queuedCount_ -= before - budget;
}

void TimeoutKeeper::readCounters(TimerStatistics& statistics) const {
    statistics.scheduled += counters_.scheduled;
    statistics.fired += counters_.fired;
    statistics.runs += counters_.runs;
    statistics.cancelled += counters_.cancelled;
    statistics.returned += counters_.returned;
    statistics.rejected += counters_.rejected;
    statistics.rescheduled += counters_.rescheduled;
}

void TimeoutKeeper::lowerKey(Tick tick) noexcept {
    if (tick.value() < key_.load(std::memory_order_relaxed))
        key_.store(tick.value(), std::memory_order_seq_cst);
}

// ---- shares -----------------------------------------------------------------------------------

void TimeoutKeeper::dropShares(std::int64_t count) noexcept {
    // Counts up from 0 while the timer lives and up to 0 after it is gone.
    if (droppedShares_.fetch_add(count, std::memory_order_acq_rel) == -count) context_.release();
}

void TimeoutKeeper::orphan() noexcept {
    std::int64_t made = 0;
    {
        Section section{*this};
        made = madeShares_;
    }
    if (droppedShares_.fetch_sub(made, std::memory_order_acq_rel) == made) context_.release();
}

// ---- observing --------------------------------------------------------------------------------

TimerEvent TimeoutKeeper::eventOf(Stage stage, TimeoutEntry const* entry) const noexcept {
    TimerEvent event{.stage = stage, .shard = number_, .entry = entry, .time = context_.now()};
    if (entry == nullptr) return event;
    event.deadline = entry->deadline();
    event.isPeriodic = !entry->isHook() && static_cast<TimeoutNode const*>(entry)->isPeriodic();
    return event;
}

void TimeoutKeeper::note(TimerEvent event) noexcept {
    try {
        events_.push_back(event);
        events_.back().number = nextEvent();
    } catch (std::bad_alloc const&) {
        // An observer that misses a step is better than a timeout that does.
    }
}

void TimeoutKeeper::Section::unlockAndTell(TimeoutNode* ended) noexcept {
    std::int64_t const ring = std::exchange(owed_, keeper_.owedAtLeast_);
    if (keeper_.events_.empty()) [[likely]]
        keeper_.unlockAndRing(ring);
    else
        keeper_.unlockRingAndTell(ring);
    letGo(ended);
}

void TimeoutKeeper::unlockAndRing(std::int64_t tick) noexcept {
    unlock();
    if (tick < kOnlyEvents) context_.alarm.ring(Tick{tick});
}

/// The observer may go with the timer: a frame stands for the telling, and so stop() waits for it.
void TimeoutKeeper::unlockRingAndTell(std::int64_t tick) noexcept {
    RunFrame frame{context_};
    running_.add(frame);
    std::vector<TimerEvent> const events = std::exchange(events_, {});
    unlockAndRing(tick);
    for (TimerEvent const& event : events) observer_->onEvent(event);
    lock();
    endFrame(frame);
    unlock();
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
