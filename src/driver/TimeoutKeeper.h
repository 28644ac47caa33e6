#pragma once

#include "context/TimerContext.h"
#include "driver/EventLog.h"
#include "run/ExecutorQueue.h"
#include "run/RunFrame.h"
#include "run/TaskRun.h"
#include "timeout/TimeoutNode.h"
#include "timeout/TimeoutWord.h"

#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/detail/TimeoutEntry.h>
#include <timingwheel/detail/platform/CacheLine.h>
#include <timingwheel/wheel/TimerTaskList.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Everything about timeouts except the wheel: the lock, runs, the executor, counters, memory.
///
/// An entry remembers its keeper for life. Handles, hooks and claims call it. The two kinds add a
/// wheel each: Shard the hierarchical one, HashedWheelWorker the flat one. Ground rules:
///
///   - Outside the lock: tasks run, captures are destroyed, handlers are called, memory of nodes is
///     allocated and freed.
///   - A hook is not touched once its task was entered. Frames say who runs what.
///   - A function that takes a Section is called with the lock held, and returns with it held.
class alignas(kCacheLine) TimeoutKeeper {
public:
    TimeoutKeeper(TimerContext& context, std::uint32_t number);
    TimeoutKeeper(TimeoutKeeper const&) = delete;
    TimeoutKeeper& operator=(TimeoutKeeper const&) = delete;

    TimerContext& context() const noexcept { return context_; }
    /// When the driver is next wanted here: Tick::max() if never.
    Tick key() const noexcept { return Tick{key_.load(std::memory_order_seq_cst)}; }

    // For handles, from any thread.

    /// Timeout::cancel.
    virtual bool cancel(TimeoutNode& node) noexcept = 0;
    /// The same. If it wins, the node's task is gone when it returns, wherever it waited.
    virtual bool cancelAndEnd(TimeoutNode& node) noexcept = 0;
    /// Waits until all runs of `entry` that have begun are over, except one that it is called in.
    void waitForRun(TimeoutEntry const& entry);
    std::shared_ptr<TimerTask> sharedTask(TimeoutNode& node);

    // For claims.

    void copyClaim() noexcept;
    void dropClaim() noexcept;
    void runClaim() noexcept;

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
    class Section;

    static constexpr std::int64_t kNoReach = INT64_MIN;

    /// What a hold of the lock owes to the driver's alarm: to ring by a tick, nothing at all, or
    /// nothing but that recorded events are delivered. So one comparison answers both. No tick is
    /// one of the two: a clock may stand at the last one.
    static constexpr std::int64_t kNothing = INT64_MAX;
    static constexpr std::int64_t kOnlyEvents = INT64_MAX - 1;
    static_assert(kOnlyEvents > Tick::kMax);

    /// Something to wait for under the lock. Costs a comparison while nobody waits.
    struct Signal {
        void notify() noexcept {
            if (waiters > 0) happened.notify_all();
        }
        std::condition_variable happened;
        std::size_t waiters = 0;
    };

    struct Counters {
        std::uint64_t scheduled = 0;
        std::uint64_t fired = 0;
        std::uint64_t runs = 0;
        std::uint64_t cancelled = 0;
        std::uint64_t returned = 0;
        std::uint64_t rejected = 0;
        std::uint64_t rescheduled = 0;
    };

    ~TimeoutKeeper() = default;

    // Running.

    /// Runs one task, which no longer counts as pending, and ends it or schedules its next run. The
    /// lock is released while what the user wrote is called.
    void run(Section& section, RunFrame& frame, TimeoutEntry& entry);
    /// Makes an entry wait for a claim, in a state that says so, and gives the executor that claim.
    /// The lock is released meanwhile.
    void dispatch(Section& section, TimeoutEntry& entry, TimeoutState state);
    /// Places a periodic node again. Returns false if it has ended.
    virtual bool scheduleNextRun(Section& section, TimeoutNode& node, NextRun const& next) noexcept;
    /// Unlinks the frame of a run that is over, and wakes those who wait for it. Under the lock.
    void endFrame(RunFrame& frame) noexcept;
    /// Notifies and destroys the task of a node whose cancellation was won. Outside the lock.
    void endCancelled(TimeoutNode& node) noexcept;

    // Stopping, looking. Under the lock.

    /// Gives entries of a list to stop(), as many as the budget allows.
    void returnFrom(TimerTaskList& list, StoppedTimeouts& stopped, std::size_t& budget) noexcept;
    void returnQueued(StoppedTimeouts& stopped, std::size_t& budget) noexcept;
    /// Gives one to stop() that was taken out and counts as pending.
    void returnOne(TimeoutEntry& entry, StoppedTimeouts& stopped) noexcept;
    /// Gives one to stop() that does not. Returns false if a cancel() was faster.
    bool handToStop(TimeoutEntry& entry, StoppedTimeouts& stopped) noexcept;
    void readCounters(TimerStatistics& statistics) const;
    bool isDrained() const noexcept { return pending_ == 0 && running_.empty(); }
    void lowerKey(Tick tick) noexcept;

    // Observing.

    /// Asked once by each operation: a load, a test and a jump are all that it pays while nobody
    /// observes.
    bool isObserved() const noexcept {
#ifdef TIMINGWHEEL_UNOBSERVED  // to count what that costs: ./dev bench --check
        return false;
#else
        return observer_ != nullptr;
#endif
    }
    TimerEvent eventOf(TimerEvent::Stage stage, TimeoutEntry const* entry) const noexcept;
    /// Keeps an event until the lock is released. Under the lock. REQUIRES: isObserved().
    void record(TimerEvent event) noexcept { events_.record(event); }
    void record(TimerEvent::Stage stage, TimeoutEntry const& entry) noexcept;

    // Read by everybody, written seldom.
    TimerContext& context_;
    TimerObserver* const observer_;
    std::int64_t const owedAtLeast_;
    std::uint32_t const number_;
    /// A pending entry's deadline may move later without the lock, up to before this.
    std::atomic<std::int64_t> reach_{kNoReach};

    // Written by everybody, without the lock: on a line of their own.
    alignas(kCacheLine) std::atomic<std::int64_t> droppedShares_{0};

    alignas(kCacheLine) std::atomic<std::int64_t> key_{Tick::kMax};
    std::mutex mutex_;         // protects what follows
    std::size_t pending_ = 0;  // those that have not been entered
    std::int64_t madeShares_ = 0;
    Counters counters_;
    ExecutorQueue queue_;
    RunFrameList running_;
    Signal runEnded_;
    Signal drained_;
    EventLog events_;

private:
    class Submission;

    void lock() noexcept {
        if (context_.isConcurrent) mutex_.lock();
    }
    void unlock() noexcept {
        if (context_.isConcurrent) mutex_.unlock();
    }
    void unlockAndRing(std::int64_t tick) noexcept;
    void unlockRingAndDeliver(std::int64_t tick) noexcept;
    void runPeriodic(Section& section, RunFrame& frame, TaskRun& run);
    void recordRun(TaskRun const& run) noexcept;
    void endOnce(TaskRun const& run) noexcept;
    void endPeriodic(Section& section, TaskRun const& run) noexcept;
    void submitClaim();
    void endClaim() noexcept;
    std::optional<TaskSubject> rejectSurplus(RunFrame& frame) noexcept;
    void endRejected(RunFrame& frame, TaskSubject const& subject,
                     std::exception_ptr exception) noexcept;
};

/// A hold of the keeper's lock. What it owes to the outside is paid after unlocking:
///
///   - recorded events are delivered,
///   - the driver is woken if the key became earlier,
///   - a node that has ended is released.
class TimeoutKeeper::Section {
public:
    explicit Section(TimeoutKeeper& keeper) noexcept : keeper_{keeper}, owed_{keeper.owedAtLeast_} {
        keeper_.lock();
    }
    Section(Section const&) = delete;
    Section& operator=(Section const&) = delete;
    ~Section() {
        unlock();
        if (owedShares_ > 0) keeper_.dropShares(owedShares_);
    }

    /// While it lives, the lock is released.
    class Released {
    public:
        explicit Released(Section& section) noexcept : section_{section} { section_.unlock(); }
        Released(Released const&) = delete;
        Released& operator=(Released const&) = delete;
        ~Released() { section_.keeper_.lock(); }

    private:
        Section& section_;
    };

    /// The driver must come by then.
    void ringBy(Tick tick) noexcept { owed_ = std::min(owed_, tick.value()); }
    /// The driver's reference to a node that has ended is to be dropped.
    void releaseLater(TimeoutNode& node) noexcept { ended_ = &node; }

    /// Waits until `condition`, which somebody else brings about and then notifies `signal`.
    template <class Condition>
    void waitFor(Signal& signal, Condition&& condition) {
        std::unique_lock<std::mutex> lock{keeper_.mutex_, std::adopt_lock};
        ++signal.waiters;
        signal.happened.wait(lock, condition);
        --signal.waiters;
        lock.release();
    }

private:
    void unlock() noexcept {
        TimeoutNode* const ended = std::exchange(ended_, nullptr);
        if (owed_ != kNothing) return unlockAndPay(ended);
        keeper_.unlock();
        release(ended);
    }
    void unlockAndPay(TimeoutNode* ended) noexcept;
    /// Shares are given back together: a runner releases one node after the other.
    void release(TimeoutNode* node) noexcept {
        if (node != nullptr && node->release()) ++owedShares_;
    }

    TimeoutKeeper& keeper_;
    std::int64_t owed_;
    TimeoutNode* ended_ = nullptr;
    std::int64_t owedShares_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
