#include "core/driver/ExecutorClaims.h"

#include "core/driver/Section.h"
#include "core/driver/run/TaskEnd.h"

#include <timingwheel/Executor.h>

#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// A claim on its way to the executor, on the stack of the thread that submits it. If the executor
/// refuses, the claim dies before the exception arrives, so the rejection waits here for it.
class TimeoutKeeper::ExecutorClaims::Submission {
public:
    explicit Submission(TimeoutKeeper& home) noexcept
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

    TimeoutKeeper& keeper;
    RunFrame frame;
    std::optional<TaskSubject> rejected;

private:
    static thread_local Submission* current_;
    Submission* outer_;
};
thread_local TimeoutKeeper::ExecutorClaims::Submission*
    TimeoutKeeper::ExecutorClaims::Submission::current_ = nullptr;

void TimeoutKeeper::ExecutorClaims::dispatch(TimeoutKeeper& keeper, Section& section,
                                             TimeoutEntry& entry, TimeoutState state) {
    TimeoutWord{entry.deadline(), state}.storeIn(entry);
    keeper.queue_.push(entry);
    keeper.context_.addClaim();
    if (keeper.isObserved()) [[unlikely]]
        keeper.record(TimerEvent::Stage::dispatch, entry);

    Section::Released const released{section};
    submit(keeper);
}

/// Gives the executor a claim. Calls the error handler if it refuses.
void TimeoutKeeper::ExecutorClaims::submit(TimeoutKeeper& keeper) {
    Submission submission{keeper};
    std::exception_ptr exception;
    try {
        keeper.context_.options.executor.execute(Claim{keeper});
    } catch (...) {
        exception = std::current_exception();
    }
    if (submission.rejected)
        endRejected(keeper, submission.frame, *submission.rejected, exception);
    else if (exception)
        keeper.context_.reports.failure({TaskFailure::Kind::executorThrew, exception});
}

void TimeoutKeeper::ExecutorClaims::copy(TimeoutKeeper& keeper) noexcept {
    Section section{keeper};
    keeper.queue_.copyClaim();
    keeper.context_.addClaim();
}

void TimeoutKeeper::ExecutorClaims::run(TimeoutKeeper& keeper) noexcept {
    Submission::Suspended const suspended;
    {
        RunFrame frame{keeper.context_};
        Section section{keeper};
        if (TimeoutEntry* const entry = keeper.queue_.useClaim()) {
            --keeper.pending_;
            keeper.run(section, frame, *entry);
        }
    }
    // Last: the claim's reference may be all that keeps the timer in memory.
    keeper.context_.endClaim();
}

void TimeoutKeeper::ExecutorClaims::drop(TimeoutKeeper& keeper) noexcept {
    // Of the claims that die during a submission, the first to reject a task counts as the
    // submitted one: submit() will have the exception for it.
    Submission* const submission = Submission::current();
    bool const isSubmitted =
        submission != nullptr && &submission->keeper == &keeper && !submission->rejected;
    {
        RunFrame frame{keeper.context_};
        auto const rejected = rejectSurplus(keeper, isSubmitted ? submission->frame : frame);
        if (rejected && isSubmitted)
            submission->rejected = rejected;
        else if (rejected)
            endRejected(keeper, frame, *rejected, nullptr);
    }
    keeper.context_.endClaim();
}

/// Gives up a claim, and rejects the newest queued task if no claim is left for it. `frame` stands
/// for the rejection until it was reported: stop() and cancelAndWait() wait for it.
std::optional<TaskSubject> TimeoutKeeper::ExecutorClaims::rejectSurplus(TimeoutKeeper& keeper,
                                                                        RunFrame& frame) noexcept {
    Section section{keeper};
    TimeoutEntry* const entry = keeper.queue_.dropClaim();
    if (entry == nullptr) return std::nullopt;
    --keeper.pending_;
    ++keeper.counters_.rejected;
    TaskSubject const subject{*entry};
    bool const isTold = !entry->isHook() || static_cast<HookEntry*>(entry)->hearsOfGivingUp();
    frame.entry = isTold ? entry : nullptr;
    keeper.running_.add(frame);
    // A HashedWheelTimer has released the limit already, when the tick came.
    if (isPending(TimeoutWord::of(*entry).state())) keeper.context_.limit.release();
    TimeoutWord{entry->deadline(), TimeoutState::rejected}.storeIn(*entry);
    if (keeper.isObserved()) [[unlikely]]
        keeper.record(TimerEvent::Stage::cancel, *entry);
    return subject;
}

void TimeoutKeeper::ExecutorClaims::endRejected(TimeoutKeeper& keeper, RunFrame& frame,
                                                TaskSubject const& subject,
                                                std::exception_ptr exception) noexcept {
    reportFailure(keeper.context_, subject, TaskFailure::Kind::rejected, std::move(exception));
    if (subject.node != nullptr) destroyTask(keeper.context_, *subject.node);
    // Unless the hook has died on this thread meanwhile.
    if (subject.node == nullptr && frame.entry != nullptr) callGivenUp(keeper.context_, subject);
    Section section{keeper};
    keeper.endFrame(frame);
    if (subject.node != nullptr) section.releaseLater(*subject.node);
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
