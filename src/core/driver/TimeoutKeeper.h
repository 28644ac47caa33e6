#pragma once

#include "core/driver/Bias.h"
#include "core/driver/DroppedShares.h"
#include "core/driver/EventLog.h"
#include "core/driver/NextWake.h"
#include "core/driver/Signal.h"
#include "core/driver/TimeoutCounters.h"
#include "core/driver/context/TimerContext.h"
#include "core/driver/run/ExecutorQueue.h"
#include "core/driver/run/RunFrame.h"
#include "core/driver/run/TaskRun.h"
#include "core/timeout/TimeoutNode.h"
#include "core/timeout/TimeoutWord.h"

#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/detail/TimeoutEntry.h>
#include <timingwheel/detail/platform/CacheLine.h>
#include <timingwheel/wheel/TimerTaskList.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Keeps entries for life: the lock, what runs, and how a run ends. Everything except the wheel.
///
/// Handles, hooks and claims call it. The two kinds of keeper each add a wheel: Shard the
/// hierarchical one, HashedWheelWorker the flat one. A Section is a hold of the lock;
/// ExecutorClaims deal with the executor. Ground rules:
///
///   - Outside the lock: tasks run, captures are destroyed, handlers are called, memory of nodes is
///     allocated and freed.
///   - A hook is not touched once its task was entered. Frames say who runs what.
///   - A function that is passed a Section is called with the lock held, and returns with it held.
class alignas(kCacheLine) TimeoutKeeper {
public:
    class ExecutorClaims;  // driver/ExecutorClaims.h
    class Section;         // driver/Section.h

    TimeoutKeeper(TimerContext& context, std::uint32_t number);
    TimeoutKeeper(TimeoutKeeper const&) = delete;
    TimeoutKeeper& operator=(TimeoutKeeper const&) = delete;

    TimerContext& context() const noexcept { return context_; }
    /// The tick at which the driver is next wanted here: Tick::max() if never.
    Tick nextWake() const noexcept { return nextWake_.get(); }

    // For handles, from any thread.

    /// Timeout::cancel.
    virtual bool cancel(TimeoutNode& node) noexcept = 0;
    /// The same. If it wins, the node's task is gone when it returns, wherever it waited.
    virtual bool cancelAndEnd(TimeoutNode& node) noexcept = 0;
    /// Waits until all runs of `entry` that have begun are over, except one on the calling thread.
    void waitForRun(TimeoutEntry const& entry);
    std::shared_ptr<TimerTask> sharedTask(TimeoutNode& node);

    // For stop() and cancelAll().

    /// Tells the objects of hooks that the timer gave up, one after another, as if they ran in
    /// `frame`. Outside the lock; may destroy the timer.
    void endGivenUp(RunFrame& frame) noexcept;

    // Memory.

    /// Drops a reference to a node. The last one gives the node's share back to its keeper.
    static void release(TimeoutNode& node) noexcept;
    /// Destroys the task of a node that has ended, or was not accepted, and drops the driver's
    /// reference.
    static void discard(TimerContext const& context, TimeoutNode& node) noexcept;
    /// Gives shares back. The last one after orphan() drops the keeper's reference to the context.
    void dropShares(std::int64_t count = 1) noexcept;
    /// The timer is gone.
    void orphan() noexcept;

protected:
    using Stage = TimerEvent::Stage;

    ~TimeoutKeeper() = default;

    // Running.

    /// Runs one task, which no longer counts as pending, and ends it or schedules its next run.
    /// Releases the lock while it calls the user's code.
    void run(Section& section, RunFrame& frame, TimeoutEntry& entry);
    /// Places a periodic node again, if there is a next run. Returns false if it has ended.
    virtual bool scheduleNextRun(Section& section, TimeoutNode& node,
                                 std::optional<NextRun> const& next) noexcept;
    /// Unlinks the frame of a run that is over, and wakes threads that wait for it. Under the lock.
    void endFrame(RunFrame& frame) noexcept;
    /// Ends a node whose cancellation was won: its task, and the driver's reference. Outside the
    /// lock.
    void endCancelled(TimeoutNode& node) noexcept;

    // Stopping, looking. Under the lock.

    /// Keeps a hook that the timer gave up for endGivenUp(), if its object wants to know.
    void keepGivenUp(HookEntry& hook) noexcept {
        if (hook.hearsOfGivingUp()) [[unlikely]]
            givenUp_.add(hook);
    }
    /// Gives stop() an entry that was taken out. Returns false if a cancel() was faster.
    bool returnTo(StoppedTimeouts& stopped, TimeoutEntry& entry) noexcept;
    bool isDrained() const noexcept { return pending_ == 0 && running_.empty(); }

    // Observing.

    /// Each operation calls this once. Without an observer it costs a load, a test and a jump.
    bool isObserved() const noexcept {
#ifdef TIMINGWHEEL_UNOBSERVED  // to count what that costs: ./dev bench --check
        return false;
#else
        return observer_ != nullptr;
#endif
    }
    TimerEvent eventOf(Stage stage, TimeoutEntry const* entry) const noexcept;
    /// Keeps an event until the lock is released. Under the lock. REQUIRES: isObserved().
    void record(TimerEvent event) noexcept { events_.record(event); }
    void record(Stage stage, TimeoutEntry const& entry) noexcept;

    // Read by all threads, seldom written.
    TimerContext& context_;
    TimerObserver* const observer_;
    std::int64_t const owedAtLeast_;
    std::uint32_t const number_;
    DrivenBy const drivenBy_;  // the lock is none, a mutex, or a mutex that leans to the loop

    // Written by all threads without the lock: on a cache line of its own.
    alignas(kCacheLine) DroppedShares droppedShares_;

    alignas(kCacheLine) NextWake nextWake_;
    std::mutex mutex_;         // protects what follows
    std::size_t pending_ = 0;  // accepted, not entered, not cancelled
    std::int64_t madeShares_ = 0;
    TimeoutCounters counters_;
    ExecutorQueue queue_;
    RunFrameList running_;
    Signal runEnded_;
    Signal drained_;
    EventLog events_;
    TimerTaskList givenUp_;  // hooks whose objects will be told so

    // A LoopTimer's.
    Bias bias_;

private:
    void lock() noexcept {
        if (drivenBy_ == DrivenBy::caller) return;
        if (drivenBy_ == DrivenBy::thread)
            mutex_.lock();
        else
            lockOfLoop();
    }
    void unlock() noexcept {
        if (drivenBy_ == DrivenBy::caller) return;
        if (drivenBy_ == DrivenBy::thread)
            mutex_.unlock();
        else
            unlockOfLoop();
    }
    // Out of line, so that the other timers carry none of it.
    void lockOfLoop() noexcept;
    void unlockOfLoop() noexcept;
    void runPeriodic(Section& section, RunFrame& frame, TaskRun& run);
    std::optional<NextRun> nextRun(TimeoutNode& node, Tick deadline,
                                   Clock::TimePoint ended) noexcept;
    void recordRun(TaskRun const& run) noexcept;
    void endOnce(TaskRun const& run) noexcept;
    void endPeriodic(Section& section, TaskRun const& run) noexcept;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
