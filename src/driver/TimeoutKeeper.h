#pragma once

#include "driver/RunFrame.h"
#include "driver/TaskRun.h"
#include "driver/TimeoutNode.h"
#include "driver/TimeoutState.h"
#include "driver/TimerContext.h"

#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/detail/TimeoutEntry.h>
#include <timingwheel/wheel/TimerTaskList.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// What keeps timeouts, as far as no wheel is concerned: the lock, who runs what, what waits in an
/// executor's hands, what is counted, and what holds the memory.
///
/// An entry remembers its keeper, for life; it is what handles, hooks and claims talk to. The two
/// kinds add a wheel each: Shard the hierarchical one, HashedWheelWorker the flat one. Ground
/// rules:
///
///   - Tasks run, captures are destroyed and user's handlers are called outside the lock, memory
///     of nodes is allocated and freed outside it.
///   - Once its task was entered a hook is not touched again: who runs what stands in frames.
///   - An executor is given claims, never entries: docs/decisions/0001.
class alignas(64) TimeoutKeeper {
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
    /// The same, and if it wins the node's task is gone when it returns, wherever it waited.
    virtual bool cancelNow(TimeoutNode& node) noexcept = 0;
    /// Waits until all runs of `entry` that have begun are over, but for one that it is called in.
    void waitForRun(TimeoutEntry const& entry);
    std::shared_ptr<TimerTask> sharedTask(TimeoutNode& node);

    // For claims.

    void copyClaim() noexcept;
    void dropClaim() noexcept;
    void runClaim() noexcept;

    // Shares: what keeps this in memory.

    /// Gives shares back. The last one after `orphan` lets go of the context.
    void dropShares(std::int64_t count = 1) noexcept;
    /// The timer is gone.
    void orphan() noexcept;
    /// Destroys the task of a node that has ended and drops the driver's reference.
    void destroy(TimeoutNode& node) noexcept;

protected:
    class Section;

    static constexpr std::int64_t kNoReach = INT64_MIN;

    /// What a hold of the lock owes to the driver's alarm: to ring by a tick, nothing at all, or
    /// nothing but that observed events are delivered. So one comparison answers both. No tick is
    /// one of the two: a clock may stand at the last one.
    static constexpr std::int64_t kNothing = INT64_MAX;
    static constexpr std::int64_t kOnlyEvents = INT64_MAX - 1;
    static_assert(kOnlyEvents > Tick::kMax);

    /// Something to wait for under the lock; costs a comparison while nobody does.
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

    /// After the run of a periodic node: places it again. False if it has ended.
    virtual bool goesOn(TimeoutNode& node, Clock::TimePoint ended, Section& section) noexcept;

    /// Runs one task that counts as pending no longer. The section is held on entry and on return,
    /// and not while the task runs.
    void runOne(Section& section, RunFrame& frame, TimeoutEntry& entry);
    /// Unlinks the frame of a run that is over, and tells those who wait for it. Under the lock.
    void endFrame(RunFrame& frame) noexcept;
    /// Makes an entry wait for a claim, in a state that says so. Under the lock; what must follow
    /// outside it is submitClaim.
    void queue(TimeoutEntry& entry, TimeoutState state) noexcept;
    /// Gives the executor a claim; tells the error handler if it refuses.
    void submitClaim();
    /// Takes an entry out that waits for a claim. Under the lock.
    void takeFromQueue(TimeoutEntry& entry) noexcept;
    /// Calls cancelled() and destroys the task of a node whose cancellation was won.
    void endCancelled(TimeoutNode& node) noexcept;

    /// Gives entries of a list to stop(), as many as the budget allows.
    void returnFrom(TimerTaskList& list, StoppedTimeouts& stopped, std::size_t& budget) noexcept;
    /// Gives one to stop() that was taken out and counts as pending.
    void returnOne(TimeoutEntry& entry, StoppedTimeouts& stopped) noexcept;
    /// Gives one to stop() that does not. False if a cancel() was faster.
    bool handToStop(TimeoutEntry& entry, StoppedTimeouts& stopped) noexcept;
    void returnQueued(StoppedTimeouts& stopped, std::size_t& budget) noexcept;
    void readCounters(TimerStatistics& statistics) const;
    bool isDrained() const noexcept { return pending_ == 0 && running_.empty(); }
    void lowerKey(Tick tick) noexcept;

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
    void note(TimerEvent event) noexcept;
    void note(TimerEvent::Stage stage, TimeoutEntry const& entry) noexcept {
        note(eventOf(stage, &entry));
    }
    /// What an event is numbered by.
    std::uint64_t nextEvent() noexcept { return told_.fetch_add(1, std::memory_order_relaxed); }

    // Read by everybody, written seldom.
    TimerContext& context_;
    TimerObserver* const observer_;
    std::int64_t const owedAtLeast_;
    std::uint32_t const number_;
    /// A pending entry's deadline may move later without the lock, up to before this.
    std::atomic<std::int64_t> reach_{kNoReach};

    // Written by everybody, without the lock: on a line of their own.
    alignas(64) std::atomic<std::int64_t> droppedShares_{0};

    alignas(64) std::atomic<std::int64_t> key_{Tick::kMax};
    std::mutex mutex_;         // protects what follows
    std::size_t pending_ = 0;  // those that have not been entered
    std::int64_t madeShares_ = 0;
    Counters counters_;
    TimerTaskList queued_;  // as many claims as these are in the executor's hands, or more
    std::size_t queuedCount_ = 0;
    std::size_t claims_ = 0;
    RunFrameList running_;
    Signal runEnded_;
    Signal drained_;
    std::vector<TimerEvent> events_;
    std::atomic<std::uint64_t> told_{0};

private:
    void lock() noexcept {
        if (context_.isConcurrent) mutex_.lock();
    }
    void unlock() noexcept {
        if (context_.isConcurrent) mutex_.unlock();
    }
    void unlockAndRing(std::int64_t tick) noexcept;
    void unlockRingAndTell(std::int64_t tick) noexcept;
    void tellRun(Section& section, TaskRun const& run);
    bool endRun(Section& section, TaskRun const& run);
    struct Surplus {
        bool exists = false;
        TaskSubject subject = {};
    };
    Surplus rejectSurplus(RunFrame& frame) noexcept;
    void endRejected(RunFrame& frame, TaskSubject const& subject,
                     std::exception_ptr exception) noexcept;
};

/// A hold of the keeper's lock. What is owed to the outside when it ends is done after unlocking:
/// recorded events are delivered, the driver is woken if the key became earlier, and a node that
/// has ended is let go.
class TimeoutKeeper::Section {
public:
    explicit Section(TimeoutKeeper& keeper) noexcept : keeper_{keeper}, owed_{keeper.owedAtLeast_} {
        lock();
    }
    Section(Section const&) = delete;
    Section& operator=(Section const&) = delete;
    ~Section() {
        unlock();
        if (owedShares_ > 0) keeper_.dropShares(owedShares_);
    }

    void lock() noexcept { keeper_.lock(); }
    void unlock() noexcept {
        TimeoutNode* const ended = std::exchange(ended_, nullptr);
        if (owed_ != kNothing) return unlockAndTell(ended);
        keeper_.unlock();
        letGo(ended);
    }
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
    void unlockAndTell(TimeoutNode* ended) noexcept;
    /// Shares are given back together: a runner lets go of one node after the other.
    void letGo(TimeoutNode* node) noexcept {
        if (node != nullptr && node->dropReference()) ++owedShares_;
    }

    TimeoutKeeper& keeper_;
    std::int64_t owed_;
    TimeoutNode* ended_ = nullptr;
    std::int64_t owedShares_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
