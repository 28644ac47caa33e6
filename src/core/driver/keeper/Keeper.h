#pragma once

#include "core/driver/book/TaskBook.h"
#include "core/driver/context/TimerContext.h"
#include "core/driver/lock/DroppedShares.h"
#include "core/driver/lock/Lock.h"
#include "core/driver/lock/NextWake.h"
#include "core/timeout/TimeoutNode.h"

#include <timingwheel/detail/TimeoutEntry.h>
#include <timingwheel/detail/platform/CacheLine.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace timingwheel::inline v1::detail {

class Hold;

/// Keeps entries for life, and answers their handles and claims. It has a lock, and what that
/// guards: only a Hold reaches it.
///
/// The two kinds of keeper each add a wheel: Shard the hierarchical one, HashedWheelWorker the flat
/// one. Outside the lock tasks run, captures are destroyed, handlers are called, and memory of
/// nodes is allocated and freed.
class alignas(kCacheLine) Keeper {
public:
    Keeper(TimerContext& context, std::uint32_t number);
    Keeper(Keeper const&) = delete;
    Keeper& operator=(Keeper const&) = delete;

    TimerContext& context() const noexcept { return context_; }
    /// The tick at which the driver is next needed here: Tick::max() if never.
    Tick nextWake() const noexcept { return nextWake_.get(); }

    // For handles and claims, from any thread.

    /// Timeout::cancel.
    virtual bool cancel(TimeoutNode& node) noexcept = 0;
    /// The same. If it wins, the node's task is gone when it returns, wherever it waited.
    virtual bool cancelAndEnd(TimeoutNode& node) noexcept = 0;
    /// Uses a claim up: runs the task that has waited longest for an executor, if one is left.
    virtual void runQueued() noexcept = 0;
    /// Waits until all runs of `entry` that have begun are over, except one on the calling thread.
    void waitForRun(TimeoutEntry const& entry);
    std::shared_ptr<TimerTask> sharedTask(TimeoutNode& node);

    // Memory.

    /// Drops a reference to a node. The last one gives the node's share back to its keeper.
    static void release(TimeoutNode& node) noexcept {
        Keeper* const keeper = node.keeper.load(std::memory_order_relaxed);
        if (node.release() && keeper != nullptr) keeper->dropShares();
    }
    /// Destroys the task of a node that has ended, or was not accepted, and drops the driver's
    /// reference.
    static void discard(TimerContext const& context, TimeoutNode& node) noexcept;
    /// Gives shares back. The last one after orphan() drops the keeper's reference to the context.
    void dropShares(std::int64_t count = 1) noexcept {
        if (droppedShares_.drop(count)) [[unlikely]]
            context_.release();
    }
    /// The timer is gone.
    void orphan() noexcept;

protected:
    virtual ~Keeper() = default;

    /// Ends a node whose cancellation was won: its task, and the driver's reference.
    void endCancelled(TimeoutNode& node) const noexcept {
        if (node.callsUserWhenCancelled() || node.wasLent()) [[unlikely]]
            return endCancelledAndCount(node);
        node.setTaskGone();
        node.giveUpDriversReference();
    }
    /// For a keeper whose callers wake the driver without the lock.
    NextWake& nextWakeWord() noexcept { return nextWake_; }

private:
    friend class Hold;
    friend struct KeeperProbe;  // tests

    void endCancelledAndCount(TimeoutNode& node) const noexcept;

    // Read by all threads, seldom written.
    TimerContext& context_;
    std::int64_t const owedAtLeast_;

    // Written without the lock: on a cache line of its own.
    alignas(kCacheLine) DroppedShares droppedShares_;

    alignas(kCacheLine) NextWake nextWake_;
    Lock lock_;
    TaskBook tasks_;
    Signal runEnded_;
    Signal drained_;
};

/// A hold of a keeper's lock: the only way to what the lock guards. After unlocking it does what is
/// owed to the outside:
///
///   - wakes the driver if the next wake became earlier,
///   - delivers recorded events,
///   - releases a node that has ended,
///   - gives shares back, its own included, by which it kept the keeper.
class Hold {
public:
    explicit Hold(Keeper& keeper) noexcept : keeper_{keeper}, owed_{keeper.owedAtLeast_} {
        keeper_.lock_.lock();
    }
    Hold(Hold const&) = delete;
    Hold& operator=(Hold const&) = delete;
    ~Hold() {
        unlock();
        if (owedShares_ > 0) keeper_.dropShares(owedShares_);
    }

    /// While it lives, the lock is released.
    class Released {
    public:
        explicit Released(Hold& hold) noexcept : hold_{hold} { hold_.unlock(); }
        Released(Released const&) = delete;
        Released& operator=(Released const&) = delete;
        ~Released() { hold_.keeper_.lock_.lock(); }

    private:
        Hold& hold_;
    };

    Keeper& keeper() const noexcept { return keeper_; }
    TimerContext& context() const noexcept { return keeper_.context_; }
    TaskBook& tasks() const noexcept { return keeper_.tasks_; }

    // What is owed.

    /// The driver must come by `tick`. Tick::max() asks for nothing.
    void wakeBy(Tick tick) noexcept {
        if (tick == Tick::max()) return;
        keeper_.nextWake_.lower(tick);
        owed_ = std::min(owed_, tick.value());
    }
    /// The driver itself says when it is next needed here.
    void setNextWake(Tick tick) noexcept { keeper_.nextWake_.set(tick); }
    /// An entry remembers the keeper from now on.
    void makeShare() noexcept {
        // In a loop the thread that makes passes is favoured, not the one that sets the timer up.
        if (tasks().madeShares++ == 0 && context().drivenBy != DrivenBy::loop)
            keeper_.droppedShares_.favourThisThread();
    }
    /// The keeper stays in memory until this is through: once the lock is free, a task may run, and
    /// destroy the hook, or the handle that the caller has named, and the timer.
    /// REQUIRES: the timer accepts, or the entry is pending. Later its shares have been counted.
    void keepKeeper() noexcept {
        if (!keeper_.lock_.isUsedWhenFree()) return;
        makeShare();
        ++owedShares_;
    }
    /// Drops the driver's reference to a node that has ended, after unlocking.
    void releaseLater(TimeoutNode& node) noexcept { ended_ = &node; }
    /// The same while the lock is released.
    void releaseNow(TimeoutNode& node) noexcept { release(&node); }

    // Runs, and the threads that wait for them.

    /// A run is over: wakes the threads that wait for it.
    void endRun(RunningTask& task) noexcept {
        tasks().running.remove(task);
        keeper_.runEnded_.notify();
        notifyIfDrained();
    }
    void notifyRunEnded() noexcept { keeper_.runEnded_.notify(); }
    void notifyIfDrained() noexcept {
        if (tasks().isDrained()) notifyDrained();
    }
    void notifyDrained() noexcept { keeper_.drained_.notify(); }
    /// Waits until `condition`, which the end of a run makes true.
    template <class Condition>
    void waitForRuns(Condition&& condition) {
        keeper_.lock_.wait(keeper_.runEnded_, [&] {
            if (condition()) return true;
            tasks().running.await();
            return condition();
        });
    }
    /// Waits until `condition`. The thread that makes it true calls notifyDrained().
    template <class Condition>
    void waitForDrain(Condition&& condition) {
        keeper_.lock_.wait(keeper_.drained_, std::forward<Condition>(condition));
    }

    /// The lock and the count of shares cost the first thread that calls this less than others.
    void favourThisThread() noexcept {
        keeper_.lock_.favourThisThread();
        keeper_.droppedShares_.favourThisThread();
    }

private:
    // What is owed: to ring the driver's alarm by a tick; nothing; or something, but only to an
    // observer. So one comparison answers both. Neither value is a tick, since a clock may show the
    // last tick.
    friend class Keeper;
    static constexpr std::int64_t kNothing = INT64_MAX;
    static constexpr std::int64_t kOnlyToObserver = INT64_MAX - 1;
    static_assert(kOnlyToObserver > Tick::kMax);

    void unlock() noexcept {
        TimeoutNode* const ended = std::exchange(ended_, nullptr);
        if (owed_ != kNothing) return unlockAndPay(ended);
        keeper_.lock_.unlock();
        release(ended);
    }
    void unlockAndPay(TimeoutNode* ended) noexcept;
    void unlockAndRing(std::int64_t tick) noexcept;
    void unlockRingAndDeliver(std::int64_t tick) noexcept;
    /// Counts shares to give back together, since a runner releases one node after another.
    void release(TimeoutNode* node) noexcept {
        if (node != nullptr && node->release()) ++owedShares_;
    }

    Keeper& keeper_;
    std::int64_t owed_;
    TimeoutNode* ended_ = nullptr;
    std::int64_t owedShares_ = 0;
};

/// Data of a keeper's that its lock guards, beside its TaskBook. Only the type `Key`, a kind of
/// Hold, reaches it.
template <class Data, class Key>
class Guarded {
public:
    template <class... Args>
    explicit Guarded(Args&&... args) : data_{std::forward<Args>(args)...} {}

private:
    friend Key;

    Data data_;
};

}  // namespace timingwheel::inline v1::detail
