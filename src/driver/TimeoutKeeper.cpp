#include "driver/TimeoutKeeper.h"

#include "run/TaskEnd.h"

#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace detail {

using Stage = TimerEvent::Stage;

/// A claim on its way to the executor, on the stack of the thread that submits it. If the executor
/// refuses, the claim dies first and the exception comes after it: a rejection waits here for that.
class TimeoutKeeper::Submission {
public:
    Submission(TimeoutKeeper& home, TimerContext& context) noexcept
        : keeper{home}, frame{context}, outer_{std::exchange(current_, this)} {}
    Submission(Submission const&) = delete;
    Submission& operator=(Submission const&) = delete;
    ~Submission() { current_ = outer_; }

    static Submission* current() noexcept { return current_; }

    /// While it lives, a task runs inside execute(): a claim that dies there is another one.
    class Suspended {
    public:
        Suspended() noexcept : submission_{std::exchange(current_, nullptr)} {}
        Suspended(Suspended const&) = delete;
        Suspended& operator=(Suspended const&) = delete;
        ~Suspended() { current_ = submission_; }

    private:
        Submission* submission_;
    };

    TimeoutKeeper& keeper;
    RunFrame frame;
    std::optional<TaskSubject> rejected;

private:
    static thread_local Submission* current_;
    Submission* outer_;
};
thread_local TimeoutKeeper::Submission* TimeoutKeeper::Submission::current_ = nullptr;

TimeoutKeeper::TimeoutKeeper(TimerContext& context, std::uint32_t number)
    : context_{context},
      observer_{context.options.observer},
      owedAtLeast_{isObserved() ? kOnlyEvents : kNothing},
      number_{number} {}

// ---- running ----------------------------------------------------------------------------------

void TimeoutKeeper::run(Section& section, RunFrame& frame, TimeoutEntry& entry) {
    TaskRun run{context_, number_, entry};
    ++counters_.runs;
    frame.entry = &entry;
    running_.add(frame);
    TimeoutNode* const node = run.node();
    if (node != nullptr && node->isPeriodic()) return runPeriodic(section, frame, run);

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
        if (node != nullptr) endOnce(run);  // before anybody who waits for the run is told
    }
    if (node != nullptr) section.releaseLater(*node);  // not before its frame has ended
    endFrame(frame);
}

void TimeoutKeeper::runPeriodic(Section& section, RunFrame& frame, TaskRun& run) {
    TimeoutNode& node = *run.node();
    TimeoutWord{run.deadline(), TimeoutState::running}.storeIn(node);
    NextRun next;
    {
        Section::Released const released{section};
        run.invoke(frame.meter);
        if (isObserved()) [[unlikely]]
            recordRun(run);
        next = node.periodicity().next(context_.scale, run.deadline(), run.ended());
    }
    if (!scheduleNextRun(section, node, next)) {
        endPeriodic(section, run);
        section.releaseLater(node);
    }
    endFrame(frame);
}

/// The observer is told of a run before anything else is done about it, unless the task has
/// destroyed the timer.
void TimeoutKeeper::recordRun(TaskRun const& run) noexcept {
    if (context_.hasStopped()) return;
    Section const section{*this};
    record(run.event());
}

bool TimeoutKeeper::scheduleNextRun(Section&, TimeoutNode&, NextRun const&) noexcept {
    return false;
}

void TimeoutKeeper::endOnce(TaskRun const& run) noexcept {
    TimeoutNode& node = *run.node();
    TimeoutWord const expired{run.deadline(), TimeoutState::expired};
    if (node.task().shared == nullptr) {
        expired.storeIn(node);
    } else {
        // Others may ask for a shared task: they look at the state under the lock.
        Section const section{*this};
        expired.storeIn(node);
    }
    destroyTask(context_, node);
}

void TimeoutKeeper::endPeriodic(Section& section, TaskRun const& run) noexcept {
    TimeoutNode& node = *run.node();
    if (isObserved() && !context_.hasStopped()) [[unlikely]]
        record(Stage::cancel, node);
    if (TimeoutWord::of(node).state() == TimeoutState::running)
        TimeoutWord{run.deadline(), TimeoutState::expired}.storeIn(node);

    Section::Released const released{section};
    context_.limit.release();
    if (TimeoutWord::of(node).state() == TimeoutState::cancelled) notifyCancelled(context_, node);
    destroyTask(context_, node);
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

// ---- executors --------------------------------------------------------------------------------

void TimeoutKeeper::dispatch(Section& section, TimeoutEntry& entry, TimeoutState state) {
    TimeoutWord{entry.deadline(), state}.storeIn(entry);
    queue_.push(entry);
    context_.claims.fetch_add(1, std::memory_order_relaxed);
    context_.retain();
    if (isObserved()) [[unlikely]]
        record(Stage::dispatch, entry);

    Section::Released const released{section};
    submitClaim();
}

/// Gives the executor a claim. Tells the error handler if it refuses.
void TimeoutKeeper::submitClaim() {
    Submission submission{*this, context_};
    std::exception_ptr exception;
    try {
        context_.options.executor.execute(Claim{*this});
    } catch (...) {
        exception = std::current_exception();
    }
    if (submission.rejected)
        endRejected(submission.frame, *submission.rejected, exception);
    else if (exception)
        context_.reports.failure({TaskFailure::Kind::executorThrew, exception});
}

void TimeoutKeeper::copyClaim() noexcept {
    Section section{*this};
    queue_.copyClaim();
    context_.claims.fetch_add(1, std::memory_order_relaxed);
    context_.retain();
}

void TimeoutKeeper::runClaim() noexcept {
    Submission::Suspended const suspended;
    {
        RunFrame frame{context_};
        Section section{*this};
        if (TimeoutEntry* const entry = queue_.useClaim()) {
            --pending_;
            run(section, frame, *entry);
        }
    }
    endClaim();
}

/// A claim died unrun. If there are fewer claims now than queued tasks, the newest is rejected.
void TimeoutKeeper::dropClaim() noexcept {
    // Of several that die while one is being submitted, the newest is that one: submitClaim() will
    // know the exception.
    Submission* const submission = Submission::current();
    bool const isSubmitted =
        submission != nullptr && &submission->keeper == this && !submission->rejected;
    {
        RunFrame frame{context_};
        auto const rejected = rejectSurplus(isSubmitted ? submission->frame : frame);
        if (rejected && isSubmitted)
            submission->rejected = rejected;
        else if (rejected)
            endRejected(frame, *rejected, nullptr);
    }
    endClaim();
}

void TimeoutKeeper::endClaim() noexcept {
    if (context_.claims.fetch_sub(1, std::memory_order_acq_rel) == 1) context_.alarm.notifyIdle();
    context_.release();
}

/// Gives a claim up, and with it the newest queued task if no claim is left for that. `frame`
/// stands for the rejection until it has been told: stop() and cancelAndWait() wait for it.
std::optional<TaskSubject> TimeoutKeeper::rejectSurplus(RunFrame& frame) noexcept {
    Section section{*this};
    TimeoutEntry* const entry = queue_.dropClaim();
    if (entry == nullptr) return std::nullopt;
    --pending_;
    ++counters_.rejected;
    TaskSubject const subject{*entry};
    frame.entry = subject.node;
    running_.add(frame);
    if (isPending(TimeoutWord::of(*entry).state())) context_.limit.release();
    TimeoutWord{entry->deadline(), TimeoutState::rejected}.storeIn(*entry);
    if (isObserved()) [[unlikely]]
        record(Stage::cancel, *entry);
    return subject;
}

void TimeoutKeeper::endRejected(RunFrame& frame, TaskSubject const& subject,
                                std::exception_ptr exception) noexcept {
    reportFailure(context_, subject, TaskFailure::Kind::rejected, std::move(exception));
    if (subject.node != nullptr) destroyTask(context_, *subject.node);
    Section section{*this};
    endFrame(frame);
    if (subject.node != nullptr) section.releaseLater(*subject.node);
}

// ---- stopping, looking ------------------------------------------------------------------------

void TimeoutKeeper::returnFrom(TimerTaskList& list, StoppedTimeouts& stopped,
                               std::size_t& budget) noexcept {
    for (; budget > 0 && !list.empty(); --budget)
        returnOne(static_cast<TimeoutEntry&>(list.takeFirst()), stopped);
}

void TimeoutKeeper::returnQueued(StoppedTimeouts& stopped, std::size_t& budget) noexcept {
    for (; budget > 0 && queue_.size() > 0; --budget) returnOne(queue_.popFirst(), stopped);
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
        record(Stage::cancel, entry);
    if (word.state() != TimeoutState::handedOver) context_.limit.release();
    if (isHook) {
        stopped.addHook();
    } else {
        stopped.add(static_cast<TimeoutNode&>(entry));
    }
    return true;
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

void TimeoutKeeper::record(Stage stage, TimeoutEntry const& entry) noexcept {
    record(eventOf(stage, &entry));
}

void TimeoutKeeper::Section::unlockAndPay(TimeoutNode* ended) noexcept {
    std::int64_t const ring = std::exchange(owed_, keeper_.owedAtLeast_);
    if (keeper_.events_.empty()) [[likely]]
        keeper_.unlockAndRing(ring);
    else
        keeper_.unlockRingAndDeliver(ring);
    release(ended);
}

void TimeoutKeeper::unlockAndRing(std::int64_t tick) noexcept {
    unlock();
    if (tick < kOnlyEvents) context_.alarm.ring(Tick{tick});
}

/// The observer may go with the timer: a frame stands for the delivery, and stop() waits for it.
void TimeoutKeeper::unlockRingAndDeliver(std::int64_t tick) noexcept {
    RunFrame frame{context_};
    running_.add(frame);
    std::vector<TimerEvent> const events = events_.takeAll();
    unlockAndRing(tick);
    for (TimerEvent const& event : events) observer_->onEvent(event);
    lock();
    endFrame(frame);
    unlock();
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
