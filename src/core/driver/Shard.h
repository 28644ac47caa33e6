#pragma once

#include "core/driver/PushBack.h"
#include "core/driver/TimeoutKeeper.h"

#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/detail/platform/CacheLine.h>
#include <timingwheel/wheel/RawTimingWheel.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// One hierarchical wheel with its lock, and the entries that belong to it, from intake to outcome.
///
/// A thread always schedules into the same shard, so threads seldom contend for a lock. An entry
/// remembers its shard, so one lock decides every question about it. Ground rules, in addition to
/// those of TimeoutKeeper:
///
///   - Under the lock: list operations, at most kChunk entries a hold.
///   - While an entry is pending, ready or queued, its state changes under the lock. The push-back
///     of a pending entry, which only moves its deadline later, is one compare-and-set without it
///     (docs/decisions/0001).
///   - An entry is in one list: a bucket (pending), `arrivals_` or `due_` (ready), or
///     `queue_` (queued).
///   - The next wake, published for the driver, is never later than the earliest thing to do here.
///
/// Data flows one way: the wheel returns what is due, and `serve` runs or dispatches it. Only
/// periodic and cascading entries go back: they are placed again.
class Shard final : public TimeoutKeeper {
public:
    /// At most so many entries are handled under one hold of the lock.
    static constexpr std::size_t kChunk = 256;

    enum class Gate : std::uint8_t {
        notStarted,
        open,
        draining,
        closed,
        elsewhere,  ///< an answer alone: the hook belongs to another shard of the timer
    };

    Shard(TimerContext& context, std::uint32_t number);

    /// The shard of a wheel's entry; null if it was never scheduled.
    static Shard* of(TimeoutEntry const& entry) noexcept {
        return static_cast<Shard*>(entry.keeper.load(std::memory_order_acquire));
    }

    // For callers, from any thread.

    /// Accepts a node, which counts in the limit already, if the gate is open, and returns the
    /// gate. Builds levels as far as `farthest`, for entries that the driver places again. Throws
    /// std::bad_alloc if a level cannot be built; nothing has changed then.
    Gate schedule(TimeoutNode& node, Tick deadline, Tick farthest, Clock::TimePoint now);
    /// Accepts hooks under one hold of the lock, and moves those that are pending. At the first
    /// that cannot be scheduled it throws, or says `elsewhere`; those before it are scheduled then.
    /// Throws std::bad_alloc as above, and RejectedExecution.
    /// REQUIRES: at most a chunk. Hooks of this shard, or a single one that is of no other timer
    /// any more.
    Gate schedule(std::span<HookEntry* const> hooks, Tick deadline, Clock::TimePoint now);
    bool cancel(TimeoutNode& node) noexcept override;
    bool cancelAndEnd(TimeoutNode& node) noexcept override;
    bool cancel(HookEntry& hook) noexcept;
    /// The same for hooks of this shard, under one hold of the lock. Returns how many it cancelled.
    /// REQUIRES: at most a chunk.
    std::size_t cancel(std::span<HookEntry* const> hooks) noexcept;
    /// Cancels all that is pending here, and the further runs of what runs here. Returns how many
    /// timeouts that were. Adds to `ended` the nodes that endAll() must end. At most a chunk of
    /// timeouts for each hold of the lock; before that a hold that empties the buckets.
    std::size_t cancelAll(TimerTaskList& ended) noexcept;
    /// Ends nodes of any timer's shards. It calls the user's code, which may destroy the timer.
    static void endAll(TimerTaskList& ended) noexcept;
    /// Moves a pending entry's deadline. `now` is the caller's reading of the clock. Without it the
    /// clock is read only if the lock is taken.
    bool reschedule(TimeoutEntry& entry, Tick deadline, Clock::TimePoint now) {
        if (!pushBack(entry, deadline)) return move(entry, deadline, now);
        context_.pushedBack.add();
        return true;
    }
    bool reschedule(TimeoutEntry& entry, Tick deadline);
    /// The part of it that takes no lock, except the first time: moves a pending entry's deadline
    /// later, as far as the levels reach. The caller counts it in `context().pushedBack`. Returns
    /// false, and has changed nothing, if this way does not do.
    bool pushBack(TimeoutEntry& entry, Tick deadline) noexcept {
        if (!pushBack_.isExpected()) [[unlikely]]
            allowPushBacks();
        return pushBack_.move(entry, deadline);
    }
    /// The other part, which takes the lock: moves the deadline of a pending entry anywhere.
    bool move(TimeoutEntry& entry, Tick deadline, Clock::TimePoint now);
    /// For a hook whose object dies: cancels it and waits for its run, again and again until no run
    /// has rescheduled it. From inside a run, makes the runner forget it.
    void forget(HookEntry& hook);
    /// True while a task of `hook` runs.
    bool isRunning(HookEntry const& hook);

    // For the driver: one thread at a time.

    /// A pass of a loop begins or ends. stop() waits for the end. The lock leans to the first
    /// thread that makes passes.
    void beginPass(RunFrame& pass) noexcept;
    void endPass(RunFrame& pass) noexcept;
    /// Lets the driver serve the entries that were due on arrival.
    void admitArrivals() noexcept;
    /// Under a clock that may be set back: turns the wheel back if it was.
    void followClockBack() noexcept;
    struct Served {
        std::size_t moved = 0;    ///< entries that were run, dispatched, or placed again
        std::size_t started = 0;  ///< those that were run or dispatched
    };
    /// Flushes buckets that expire by `limit`, moves their entries down, and runs or dispatches
    /// those that are due: at most a chunk, at most `atMost` tasks, and all of one tick.
    /// REQUIRES: limit is not Tick::max().
    Served serve(Tick limit, RunFrame& frame, std::size_t atMost);

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

private:
    void admit(Section& section, TimeoutEntry& entry, Tick deadline) noexcept;
    bool scheduleOrMove(Section& section, HookEntry& hook, Tick deadline, Clock::TimePoint now);
    bool adopt(HookEntry& hook, TimeoutKeeper* former) noexcept;
    bool moveLocked(Section& section, TimeoutEntry& entry, TimeoutWord word, Tick deadline,
                    Clock::TimePoint now);
    void reserve(Tick deadline);
    void reserveIfPossible(Tick deadline) noexcept;
    /// Moves the wheel's clock to now, or to the first bucket before that, so that an entry goes to
    /// the lowest level that can hold it. Does so once a tick.
    void catchUp(Section& section, Clock::TimePoint now) noexcept {
        if (now >= catchUpAt_) catchUpNow(section, now);
    }
    void catchUpNow(Section& section, Clock::TimePoint now) noexcept;
    bool turnBackIfSet(Section& section, Tick tick) noexcept;
    void turnBack(Section& section, Tick tick) noexcept;
    bool correct(TimeoutEntry& entry) noexcept;
    std::size_t placeGathered(Section& section, std::size_t atMost) noexcept;
    void publishReach() noexcept;
    void allowPushBacks() noexcept;
    TimerTaskList const* place(Section& section, TimeoutEntry& entry) noexcept;
    Served serveLocked(Section& section, Tick limit, RunFrame& frame, std::size_t atMost);
    void wake() noexcept;
    TimeoutEntry* takeDue() noexcept;
    TimeoutEntry* expireOrCascade() noexcept;
    bool expire(TimeoutEntry& entry, TimeoutWord& seen) const noexcept;
    TimerTaskList const& cascade(TimeoutEntry& entry, Tick deadline) noexcept {
        TimerTaskList const& bucket = wheel_.moveAhead(entry, deadline).bucket();
        if (bucket.level() < flush_->level()) ++cascaded_[flush_->level()];
        return bucket;
    }
    void cascadeAndRecord(TimeoutEntry& entry, Tick deadline) noexcept;
    enum class Cancelled { no, yes, whileRunning };
    Cancelled markCancelled(TimeoutEntry& entry) noexcept;
    void markCancelled(TimeoutEntry& entry, TimeoutWord word, TimeoutState state) noexcept;
    static void endIfCancelling(TimeoutNode& node) noexcept;
    std::size_t gatherAll() noexcept;
    void gatherReady() noexcept;
    TimeoutEntry* takeGathered(std::size_t& queued) noexcept;
    void cancelGathered(TimeoutEntry& entry) noexcept;
    void unlinkAndMark(TimeoutEntry& entry, TimeoutWord word) noexcept;
    void unlink(TimeoutEntry& entry, TimeoutState state) noexcept;
    TimeoutEntry* takePending() noexcept;
    void refreshNextWake() noexcept;
    bool scheduleNextRun(Section& section, TimeoutNode& node,
                         std::optional<NextRun> const& next) noexcept override;
    void recordIntake(TimeoutEntry const& entry, TimerTaskList const* bucket) noexcept;
    void recordPlace(Stage stage, TimeoutEntry const& entry, TimerTaskList const& bucket) noexcept;
    void recordWake(TimerTaskList const& bucket, Tick expiration) noexcept;
    void advanceClockAndRecord(Tick tick) noexcept;
    void recordRestart(Tick tick) noexcept;

    // Protected by the lock.
    Gate gate_ = Gate::notStarted;
    RawTimingWheel wheel_;
    Clock::TimePoint catchUpAt_ = Clock::TimePoint::min();
    TimerTaskList const* flush_ = nullptr;
    TimerTaskList arrivals_;       // due on arrival, by deadline: wait for the driver's next pass
    TimerTaskList due_;            // those admitted to this pass
    TimerTaskList late_;           // periodic, ended by stop() while they ran
    bool isTurningBack_ = false;   // what the wheel has gathered is to be placed again
    bool isCorrection_ = false;    // and what computes its times must do so anew
    TimerTaskList gatheredReady_;  // were due, or due on arrival, when the wheel gathered
    // For cancelAll():
    TimerTaskList cancelledNodes_;    // will be ended by it
    std::size_t cancelledCount_ = 0;  // what it has not counted yet
    std::uint32_t gatherers_ = 0;     // how many calls are under way
    std::array<std::uint64_t, RawTimingWheel::kMaxLevels> cascaded_{};
    bool isLateCollected_ = false;
    std::size_t armed_ = 0;  // buckets in the delay heap, by the last recorded event

    // Read by all threads, seldom written: on a cache line of its own.
    alignas(kCacheLine) PushBack pushBack_;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
