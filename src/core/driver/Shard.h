#pragma once

#include "core/driver/book/ShardBook.h"
#include "core/driver/keeper/Keeper.h"
#include "core/driver/run/RunFrame.h"
#include "core/timeout/FoundTimeouts.h"
#include "core/timeout/PushBack.h"

#include <timingwheel/StoppedTimeouts.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/detail/platform/CacheLine.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace timingwheel::inline v1::detail {

class ShardHold;

/// One hierarchical wheel with its lock, and the timeouts that belong to it, from intake to
/// outcome. What the lock guards is a ShardBook. This takes holds for callers and for the driver,
/// reads the clock, and does outside the lock what the book cannot.
///
/// A thread always schedules into the same shard, so threads seldom contend for a lock. An entry
/// remembers its shard, so one lock decides every question about it. Ground rules:
///
///   - Under the lock: list operations, at most kPerHold entries a hold.
///   - While an entry is pending, its state changes under the lock, with two exceptions: the
///     push-back (PushBack.h), and the driver that enters what it has taken (Chunk.h).
///   - The next wake, published for the driver, is never later than the earliest thing to do here.
class Shard final : public Keeper {
public:
    static constexpr std::size_t kPerHold = ShardBook::kPerHold;

    /// What became of a schedule.
    enum class Answer : std::uint8_t {
        notStarted,  ///< nothing: the timer was not started yet
        accepted,
        draining,   ///< it was refused: the timer is draining
        closed,     ///< the same: it was stopped
        elsewhere,  ///< nothing: the hook belongs to another shard of the timer
        full,       ///< a hook was refused: as many are pending as may be
    };

    Shard(TimerContext& context, std::uint32_t number);

    /// The shard of a wheel's entry; null if it was never scheduled.
    static Shard* of(TimeoutEntry const& entry) noexcept {
        return static_cast<Shard*>(entry.keeper.load(std::memory_order_acquire));
    }

    // For callers, from any thread.

    /// Accepts a node, which counts in the limit already. Builds levels as far as `farthest`, for
    /// entries that the driver places again. Throws std::bad_alloc if a level cannot be built;
    /// nothing has changed then.
    Answer schedule(TimeoutNode& node, Tick deadline, Tick farthest, Clock::TimePoint now);
    /// Accepts hooks under one hold of the lock, and moves those that are pending. At the first
    /// that cannot be scheduled it throws std::bad_alloc, as above, or returns why; those before it
    /// stay scheduled.
    /// REQUIRES: at most kPerHold. Hooks of this shard, or one that is of no other timer any more.
    Answer schedule(std::span<HookEntry* const> hooks, Tick deadline, Clock::TimePoint now);
    bool cancel(TimeoutNode& node) noexcept override;
    bool cancelAndEnd(TimeoutNode& node) noexcept override;
    bool cancel(HookEntry& hook) noexcept;
    /// The same for hooks of this shard, under one hold of the lock. Returns how many it cancelled.
    /// REQUIRES: at most kPerHold.
    std::size_t cancel(std::span<HookEntry* const> hooks) noexcept;
    /// Cancels all that is pending here, and the further runs of what runs here. Returns how many
    /// timeouts that were. Adds to `ended` the nodes that endAll() must end. At most kPerHold
    /// timeouts for each hold of the lock; before that a hold that empties the buckets.
    std::size_t cancelAll(TimerTaskList& ended) noexcept;
    /// Ends nodes of any timer's shards. It calls the user's code, which may destroy the timer.
    static void endAll(TimerTaskList& ended) noexcept;
    /// Moves a pending entry's deadline. `now` is the caller's reading of the clock.
    bool reschedule(TimeoutEntry& entry, Tick deadline, Clock::TimePoint now) {
        return pushBack(entry, deadline, context().pushedBack) || move(entry, deadline, now);
    }
    /// The same to `time`, whose tick is `deadline`. Reads the clock only if the lock is taken.
    bool rescheduleAt(TimeoutEntry& entry, Clock::TimePoint time, Tick deadline);
    /// The part of it that takes no lock, except the first time: moves a pending entry's deadline
    /// later, as far as the levels reach, and adds it to `moved` before that. Returns false, and
    /// has changed nothing, if this way does not do.
    template <class Counter>
    bool pushBack(TimeoutEntry& entry, Tick deadline, Counter& moved) noexcept {
        if (!pushBack_.isExpected()) [[unlikely]]
            allowPushBacks();
        return pushBack_.move(entry, deadline, moved);
    }
    /// The other part, which takes the lock: moves the deadline of a pending entry anywhere.
    bool move(TimeoutEntry& entry, Tick deadline, Clock::TimePoint now);
    /// Cancels a hook and waits for its runs on other threads, again and again until none of them
    /// has rescheduled it. Returns true if it was pending.
    bool cancelAndWait(HookEntry& hook);
    /// The same for a hook whose object dies. From inside a run, makes the runner forget it.
    void forget(HookEntry& hook);
    /// True while a task of `hook` runs.
    bool isRunning(HookEntry const& hook);

    // For the driver: one thread at a time. Claims call runQueued() from any thread.

    /// A pass of a loop begins or ends. stop() waits for the end. The lock is biased towards
    /// the first thread that makes passes.
    void beginPass(RunFrame& pass) noexcept;
    /// The same for a clock that is set by hand. It may come when the timer is gone, so its thread
    /// is not favoured.
    void beginPassOfClock(RunFrame& pass) noexcept;
    void endPass(RunFrame& pass) noexcept;
    /// Lets the driver serve the entries that were due on arrival.
    void admitArrivals() noexcept;
    /// Under a clock that may be set back: turns the wheel back if it was.
    void followClockBack() noexcept;
    struct Served {
        std::size_t moved = 0;    ///< entries that were run, dispatched, or placed again
        std::size_t started = 0;  ///< those that were run or dispatched
    };
    /// Takes what is due by `limit` and runs or dispatches it: at most kPerHold entries, at most
    /// `atMost` tasks, and all of one tick. REQUIRES: limit is not Tick::max().
    Served serve(Tick limit, RunFrame& frame, std::size_t atMost);
    void runQueued() noexcept override;

    // For starting, stopping and looking.

    void open();
    void beginDraining();
    /// Waits until nothing is pending and nothing runs, or the gate is closed.
    void waitUntilDrained();
    /// Closes the gate and takes out all that is pending.
    void close(StoppedTimeouts& stopped) noexcept;
    /// Waits for runs on other threads, then takes the periodic timeouts that ended meanwhile.
    void collectLate(StoppedTimeouts& stopped) noexcept;
    /// Notifies the objects of hooks that the timer gave up, one after another, as if they ran in
    /// `frame`. Outside the lock; may destroy the timer.
    void endGivenUp(RunFrame& frame) noexcept;
    /// Waits until those that other threads are notifying now have been notified.
    void waitForGivenUp() noexcept;
    std::size_t pending();
    /// Adds each timeout that is pending here all the time, and is not moved by others, and some of
    /// the others, perhaps several times. At most kPerHold for each hold of the lock. Throws
    /// std::bad_alloc. REQUIRES: one thread at a time.
    void findPending(FoundTimeouts& found);
    void readInto(TimerStatistics& statistics);
    void checkInvariants();

private:
    friend class ShardHold;

    Answer scheduleOrMove(ShardHold& hold, HookEntry& hook, Tick deadline, Clock::TimePoint now);
    bool adopt(ShardHold& hold, HookEntry& hook, Keeper* former) noexcept;
    bool moveUnder(ShardHold& hold, TimeoutEntry& entry, TimeoutWord word, Tick deadline,
                   Clock::TimePoint now);
    void cancelUnder(ShardHold& hold, TimeoutEntry& entry, TimeoutWord word) noexcept;
    enum class Cancelled { no, yes, whileRunning };
    Cancelled cancelEntry(TimeoutEntry& entry) noexcept;
    bool cancelAndWait(ShardHold& hold, HookEntry& hook);
    void catchUp(ShardHold& hold, Clock::TimePoint now) noexcept;
    void catchUpNow(ShardHold& hold, Clock::TimePoint now) noexcept;
    bool turnBackIfSet(ShardHold& hold, Tick tick) noexcept;
    void reserve(ShardHold& hold, Tick deadline);
    void reserveIfPossible(ShardHold& hold, Tick deadline) noexcept;
    void publishReach(ShardHold& hold) noexcept;
    void allowPushBacks() noexcept;
    void expectPushBacks(ShardHold& hold) noexcept;
    void walkThrough(PendingWalk& walk);
    Served serveUnder(ShardHold& hold, Tick limit, RunFrame& frame, std::size_t atMost);
    void run(ShardHold& hold, RunFrame& frame, TimeoutEntry& entry) noexcept;
    bool scheduleNextRun(ShardHold& hold, TimeoutNode& node,
                         std::optional<NextRun> const& next) noexcept;

    Guarded<ShardBook, ShardHold> book_;

    // Read by all threads, seldom written: on a cache line of its own.
    alignas(kCacheLine) PushBack pushBack_;
};

/// A hold of a shard's lock: the only way to its book.
class ShardHold final : public Hold {
public:
    explicit ShardHold(Shard& shard) noexcept : Hold{shard}, book_{shard.book_.data_} {}

    ShardBook* operator->() const noexcept { return &book_; }

private:
    ShardBook& book_;
};

}  // namespace timingwheel::inline v1::detail
