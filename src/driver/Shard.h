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
#include <timingwheel/wheel/TimingWheelBase.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// One wheel with its lock, and every entry that belongs to it, from intake to outcome.
///
/// A thread always schedules into the same shard and an entry remembers its shard, so locks are
/// hardly ever contended, and every question about an entry is decided under one lock. Ground
/// rules:
///
///   - Tasks run, captures are destroyed and user's handlers are called outside the lock, memory
///     of nodes is allocated and freed outside it. Under it: list operations, at most kChunk
///     entries a hold.
///   - All changes of state are made under the lock; the push-back of a pending entry, which only
///     moves its deadline later, is one compare-and-set without it (docs/decisions/0001).
///   - An entry is in one list: a bucket (pending), `arrivals_`, `due_` or `ready_` (ready), or
///     `queued_` (queued).
///   - The key, published for the driver, is never later than the earliest thing to do here.
///
/// Data flows one way: the wheel returns what is due, `step` makes it ready, `runReady` runs it or
/// `dispatch` hands it out. The only way back is a periodic or cascading entry that is placed
/// again.
class alignas(64) Shard {
public:
    /// Entries that are handled under one hold of the lock, at most.
    static constexpr std::size_t kChunk = 256;

    enum class Gate : std::uint8_t { notStarted, open, draining, closed };

    Shard(TimerContext& context, std::uint32_t number);
    Shard(Shard const&) = delete;
    Shard& operator=(Shard const&) = delete;

    TimerContext& context() const noexcept { return context_; }
    /// When this shard next wants the driver: Tick::max() if never.
    Tick key() const noexcept { return Tick{key_.load(std::memory_order_seq_cst)}; }

    // For callers, from any thread.

    /// Accepts an entry whose state is `intake` or that nobody knows yet, if the gate is open, and
    /// returns the gate. Throws std::bad_alloc if a level cannot be built; nothing changed then.
    /// Levels are built as far as `farthest`, for those that are placed again by the driver.
    Gate schedule(TimeoutEntry& entry, Tick deadline, Tick farthest, Clock::TimePoint now);
    enum class Cancelled { no, yes, whileRunning };
    Cancelled cancel(TimeoutEntry& entry) noexcept;
    bool reschedule(TimeoutEntry& entry, Tick deadline);
    /// Waits until all runs of `entry` that have begun are over, but for one that it is called in.
    void waitForRun(TimeoutEntry const& entry);
    /// The hook's object dies: cancels it, waits as waitForRun, and again if a run scheduled it
    /// anew. From inside a run, makes the runner forget it.
    void forget(HookEntry& hook);
    /// True while a task of `entry` runs.
    bool isRunning(TimeoutEntry const& entry);
    /// Calls cancelled() and destroys the task of a node whose cancellation was won.
    void endCancelled(TimeoutNode& node) noexcept;
    std::shared_ptr<TimerTask> sharedTask(TimeoutNode& node);

    // For the driver: one thread at a time.

    /// Lets those that were due on arrival take part in the next step.
    void admitArrivals() noexcept;
    /// Flushes buckets that expire by `limit`, moves their entries down or makes them ready: one
    /// chunk of them. Returns how many.
    std::size_t step(Tick limit) noexcept;
    /// Runs ready tasks inline, at most `atMost`. Returns how many.
    std::size_t runReady(RunFrame& frame, std::size_t atMost);
    /// Hands ready tasks to the executor. Returns how many.
    std::size_t dispatch();

    // For claims.

    void copyClaim() noexcept;
    void dropClaim() noexcept;
    void runClaim() noexcept;

    // For starting, stopping and looking.

    void open();
    void beginDraining();
    /// Waits until nothing is pending and nothing runs, or the gate is closed.
    void waitUntilDrained();
    /// Closes the gate and takes out all that is pending.
    void close(StoppedTimeouts& stopped) noexcept;
    /// Waits for runs on other threads, then takes the periodic timeouts that ended meanwhile.
    void collectLate(StoppedTimeouts& stopped) noexcept;
    std::size_t pending();
    void readInto(TimerStatistics& statistics);
    void checkInvariants();

    // Shares: what keeps the shard in memory.

    /// Gives a share back. The last one after `orphan` lets go of the context.
    void dropShare() noexcept;
    /// The timer is gone.
    void orphan() noexcept;
    /// Destroys the task of a node that has ended and drops the driver's reference.
    void destroy(TimeoutNode& node) noexcept;

private:
    class Section;

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

    void reserve(Tick deadline);
    void catchUp(Clock::TimePoint now) noexcept;
    void publishReach() noexcept;
    void put(TimeoutEntry& entry, Section& section) noexcept;
    bool flushNext(Tick limit) noexcept;
    void collect(TimeoutEntry& entry, TimingWheelBase::Flush const& flush) noexcept;
    void cancelPending(TimeoutEntry& entry, TimeoutWord word) noexcept;
    void takeOut(TimeoutEntry& entry, TimeoutState state) noexcept;
    void lowerKey(Tick tick) noexcept;
    void refreshKey() noexcept;

    void runOne(Section& section, RunFrame& frame, TimeoutEntry& entry);
    bool endRun(Section& section, TaskRun const& run);
    void endFrame(RunFrame& frame) noexcept;
    bool goesOn(TimeoutNode& node, Clock::TimePoint ended, Section& section) noexcept;
    TaskSubject rejectSurplus(RunFrame& frame, bool& hasRejected) noexcept;
    void endRejected(RunFrame& frame, TaskSubject const& subject,
                     std::exception_ptr exception) noexcept;
    void returnFrom(TimerTaskList& list, StoppedTimeouts& stopped, std::size_t& budget) noexcept;
    void returnOne(TimeoutEntry& entry, StoppedTimeouts& stopped) noexcept;
    bool isDrained() const noexcept { return pending_ == 0 && running_.empty(); }
    /// Costs a branch while nobody observes.
    void record(TimerEvent::Stage stage, TimeoutEntry const* entry, TimerTaskList const* bucket,
                std::uint32_t fromLevel = 0) noexcept {
        if (observer_ != nullptr) [[unlikely]]
            note(stage, entry, bucket, fromLevel);
    }
    void note(TimerEvent::Stage stage, TimeoutEntry const* entry, TimerTaskList const* bucket,
              std::uint32_t fromLevel) noexcept;

    // Read by everybody, written seldom.
    TimerContext& context_;
    TimerObserver* const observer_;
    std::uint32_t const number_;
    /// The wheel's reach, for push-backs: a deadline before it needs no level that is not built.
    std::atomic<std::int64_t> reach_{0};

    // Written by everybody, without the lock: on a line of their own.
    alignas(64) std::atomic<std::uint64_t> pushedBack_{0};
    std::atomic<std::int64_t> droppedShares_{0};

    alignas(64) std::atomic<std::int64_t> key_{Tick::kMax};  // written under the lock
    std::mutex mutex_;                                       // protects what follows
    Gate gate_ = Gate::notStarted;
    TimingWheelBase wheel_;
    Clock::TimePoint catchUpAt_ = Clock::TimePoint::min();
    std::optional<TimingWheelBase::Flush> flush_;
    TimerTaskList arrivals_;  // due on arrival, by deadline: wait for the driver's next pass
    TimerTaskList due_;       // those admitted to this pass
    TimerTaskList ready_;     // waits for its turn
    TimerTaskList queued_;    // as many claims as these are in the executor's hands, or more
    TimerTaskList late_;      // periodic, ended by stop() while they ran
    std::size_t queuedCount_ = 0;
    std::size_t claims_ = 0;
    std::size_t pending_ = 0;
    std::int64_t madeShares_ = 0;
    Counters counters_;
    std::array<std::uint64_t, TimingWheelBase::kMaxLevels> cascaded_{};
    RunFrameList running_;
    bool isLateCollected_ = false;
    Signal runEnded_;
    Signal drained_;
    std::vector<TimerEvent> events_;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
