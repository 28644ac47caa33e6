#include "core/driver/keeper/ExecutorClaims.h"

#include "core/base/platform/Probe.h"
#include "core/driver/run/TaskEnd.h"

#include <timingwheel/Executor.h>

#include <utility>

namespace timingwheel::inline v1::detail {

/// A claim on its way to the executor, on the stack of the thread that submits it. If the executor
/// refuses, the claim dies before the exception arrives, so the rejection waits here for it.
class ExecutorClaims::Submission {
public:
    explicit Submission(Keeper& home) noexcept
        : keeper{home}, frame{home.context()}, outer_{std::exchange(current_, this)} {}
    Submission(Submission const&) = delete;
    Submission& operator=(Submission const&) = delete;
    ~Submission() { current_ = outer_; }

    static Submission* current() noexcept { return current_; }

    /// While it lives, a task runs inside execute(). A claim that dies there is another one.
    class Suspended {
    public:
        Suspended() noexcept : submission_{std::exchange(current_, nullptr)} {}
        Suspended(Suspended const&) = delete;
        Suspended& operator=(Suspended const&) = delete;
        ~Suspended() { current_ = submission_; }

    private:
        Submission* submission_;
    };

    Keeper& keeper;
    RunFrame frame;
    std::optional<TaskSubject> rejected;

private:
    static thread_local Submission* current_;
    Submission* outer_;
};
thread_local ExecutorClaims::Submission* ExecutorClaims::Submission::current_ = nullptr;

void ExecutorClaims::dispatch(Hold& hold, TimeoutEntry& entry, TimeoutState state) {
    TimeoutWord{entry.deadline(), state}.storeIn(entry);
    hold.tasks().queue.push(entry);
    TIMINGWHEEL_PROBE_2(dispatch, &entry, entry.deadline());
    hold.context().addClaim();
    if (hold.tasks().events.isObserved()) [[unlikely]]
        hold.tasks().events.record(TimerEvent::Stage::dispatch, entry);

    Hold::Released const released{hold};
    submit(hold.keeper());
}

/// Gives the executor a claim. Calls the error handler if it refuses.
void ExecutorClaims::submit(Keeper& keeper) {
    Submission submission{keeper};
    std::exception_ptr exception;
    try {
        keeper.context().options.executor.execute(Claim{keeper});
    } catch (...) {
        exception = std::current_exception();
    }
    if (submission.rejected)
        endRejected(keeper, submission.frame, *submission.rejected, exception);
    else if (exception)
        keeper.context().reports.failure({TaskFailure::Kind::executorThrew, exception});
}

void ExecutorClaims::copy(Keeper& keeper) noexcept {
    Hold const hold{keeper};
    hold.tasks().queue.copyClaim();
    keeper.context().addClaim();
}

void ExecutorClaims::run(Keeper& keeper) noexcept {
    Submission::Suspended const suspended;
    keeper.runQueued();
    // Last: the claim's reference may be all that keeps the timer in memory.
    keeper.context().endClaim();
}

void ExecutorClaims::drop(Keeper& keeper) noexcept {
    // Of the claims that die during a submission, the first to reject a task counts as the
    // submitted one: submit() will have the exception for it.
    Submission* const submission = Submission::current();
    bool const isSubmitted =
        submission != nullptr && &submission->keeper == &keeper && !submission->rejected;
    {
        RunFrame frame{keeper.context()};
        auto const rejected = rejectSurplus(keeper, isSubmitted ? submission->frame : frame);
        if (rejected && isSubmitted)
            submission->rejected = rejected;
        else if (rejected)
            endRejected(keeper, frame, *rejected, nullptr);
    }
    keeper.context().endClaim();
}

/// Gives up a claim, and rejects the newest queued task if no claim is left for it. `frame` stands
/// for the rejection until it was reported: stop() and cancelAndWait() wait for it.
std::optional<TaskSubject> ExecutorClaims::rejectSurplus(Keeper& keeper, RunFrame& frame) noexcept {
    Hold const hold{keeper};
    TaskBook& tasks = hold.tasks();
    TimeoutEntry* const entry = tasks.queue.dropClaim();
    if (entry == nullptr) return std::nullopt;
    --tasks.pending;
    ++tasks.counters.rejected;
    TaskSubject const subject{*entry};
    bool const isTold = !entry->isHook() || static_cast<HookEntry*>(entry)->callsGivenUp();
    frame.entry = isTold ? entry : nullptr;
    tasks.running.add(frame);
    // A HashedWheelTimer has released the limit already, when the tick came.
    if (isPending(TimeoutWord::of(*entry).state())) keeper.context().limit.release();
    TimeoutWord{entry->deadline(), TimeoutState::rejected}.storeIn(*entry);
    TIMINGWHEEL_PROBE_1(cancel, entry);
    if (tasks.events.isObserved()) [[unlikely]]
        tasks.events.record(TimerEvent::Stage::cancel, *entry);
    return subject;
}

void ExecutorClaims::endRejected(Keeper& keeper, RunFrame& frame, TaskSubject const& subject,
                                 std::exception_ptr exception) noexcept {
    reportFailure(keeper.context(), subject, TaskFailure::Kind::rejected, std::move(exception));
    if (subject.node != nullptr) destroyTask(keeper.context(), *subject.node);
    // Unless the hook has died on this thread meanwhile.
    if (subject.node == nullptr && frame.entry != nullptr) callGivenUp(keeper.context(), subject);
    Hold hold{keeper};
    hold.endRun(frame);
    if (subject.node != nullptr) hold.releaseLater(*subject.node);
}

}  // namespace timingwheel::inline v1::detail
