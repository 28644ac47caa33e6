#pragma once

#include "core/base/platform/Probe.h"
#include "core/driver/book/Chunk.h"
#include "core/driver/book/Gathering.h"
#include "core/driver/book/ListCursor.h"
#include "core/driver/book/PendingWalk.h"
#include "core/driver/book/TaskBook.h"
#include "core/timeout/TimeoutNode.h"
#include "core/timeout/TimeoutWord.h"

#include <timingwheel/Clock.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/wheel/RawTimingWheel.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// What a shard's lock guards: a wheel, a few lists, and the steps of the timeouts in them. Each
/// step is for one thread at a time, and calls nothing back: it returns what the caller must know.
/// It knows no shard, executor or clock; ticks are given to it. The one thread of which it knows is
/// the driver, whose chunk others take entries back from.
///
///   - An entry is in one list: a bucket (pending), `arrivals_` or `due_` (ready), the chunk
///     (taken), or the queue (queued). A cancelAll(), or a clock that was set back, gathers the
///     first two kinds.
///   - Its state changes here, except that PushBack moves the deadline of a pending entry later at
///     any moment, once expectPushBacks() was called, and that the driver enters what is in the
///     chunk at any moment.
///
/// Steps that return a Tick return by when the driver must come, if that is earlier than it would;
/// Tick::max() if it is not.
///
/// Thread safety  none: ShardHold is the only way to that of a shard
class ShardBook {
public:
    /// How many entries are handled under one hold of the lock, at most.
    static constexpr std::size_t kPerHold = 256;

    enum class Gate : std::uint8_t { notStarted, open, draining, closed };

    ShardBook(TaskBook& tasks, TimingWheelOptions options)
        : tasks_{tasks},
          isObserved_{tasks.events.isObserved()},
          isWatched_{isObserved_},
          wheel_{options} {}
    ShardBook(ShardBook const&) = delete;
    ShardBook& operator=(ShardBook const&) = delete;

    Gate gate() const noexcept { return gate_; }
    void open() noexcept {
        if (gate_ == Gate::notStarted) gate_ = Gate::open;  // drain() may have been first
    }
    void beginDraining() noexcept {
        if (gate_ == Gate::notStarted || gate_ == Gate::open) gate_ = Gate::draining;
    }
    void close() noexcept { gate_ = Gate::closed; }

    // The wheel.

    Tick currentTick() const noexcept { return wheel_.currentTick(); }
    /// Moves the wheel's clock to `now`, or to the first bucket before that, so that an entry goes
    /// to the lowest level that can hold it.
    void catchUp(Tick now) noexcept;
    /// The caller's note of the time before which it need not catch up.
    Clock::TimePoint catchUpAt = Clock::TimePoint::min();

    /// Deadlines before it need no further level. Those beyond it are placed again in each turn of
    /// the coarsest.
    Tick reach() const noexcept { return wheel_.reach(); }
    /// Builds the levels that `deadline` needs. Returns true if that changed the reach. Strong
    /// exception safety.
    bool reserve(Tick deadline) {
        if (deadline < wheel_.reach()) return false;
        wheel_.reserve(deadline);
        return true;
    }
    /// The same, if there is memory.
    bool reserveIfPossible(Tick deadline) noexcept;
    /// From now on the word of a pending entry may change at any moment.
    void expectPushBacks() noexcept { expectsPushBacks_ = true; }
    bool expectsPushBacks() const noexcept { return expectsPushBacks_; }

    // The timeouts.

    /// Takes in an entry that is not pending.
    Tick accept(TimeoutEntry& entry, Tick deadline) noexcept {
        ++tasks_.pending;
        ++tasks_.counters.scheduled;
        TimeoutWord{deadline, TimeoutState::pending}.storeIn(entry);
        TIMINGWHEEL_PROBE_2(schedule, &entry, deadline);
        if (isObserved()) [[unlikely]]
            return placeAndRecord(entry, true);
        return place(entry).wake;
    }
    /// Whether an entry, whose word is `word`, is pending. If so it stays that until the caller has
    /// moved or cancelled it, in the same hold. If not, its word says so: if the driver has just
    /// claimed it, this waits for that.
    bool seize(TimeoutEntry& entry, TimeoutWord word) noexcept {
        return isPending(word.state()) && (word.state() != TimeoutState::taken || takeBack(entry));
    }
    /// Moves an entry that was seized, whose word was `word`.
    Tick move(TimeoutEntry& entry, TimeoutWord word, Tick deadline) noexcept {
        unlink(entry, word.state());
        // A push-back that slips in before this store counts as earlier; one after it is kept.
        TimeoutWord{deadline, TimeoutState::pending}.storeIn(entry);
        ++tasks_.counters.rescheduled;
        return placeAgain(entry);
    }
    /// Cancels an entry that was seized, whose word was `word`.
    void cancel(TimeoutEntry& entry, TimeoutWord word) noexcept {
        unlink(entry, word.state());
        markCancelled(entry, word, TimeoutState::cancelled);
    }
    /// The further runs of a periodic timeout that runs now.
    void cancelRunning(TimeoutEntry& entry, TimeoutWord word) noexcept {
        TimeoutWord{word.deadline(), TimeoutState::cancelled}.storeIn(entry);
        ++tasks_.counters.cancelled;
    }

    // The driver's step.

    /// Lets the driver serve the entries that were due on arrival.
    void admitArrivals() noexcept { due_.takeAll(arrivals_); }
    /// A part of the driver's work: at most kPerHold entries, and all that is due of one tick. It
    /// ends at once if the wheel turns back.
    struct Turn {
        Tick limit;
        bool isBehind;          ///< the limit lies before what a bounded advance left half done
        std::size_t moved = 0;  ///< entries that were due, or were placed again
        bool leavesPeriodic = false;  ///< a periodic entry ends it
        bool isAtPeriodic = false;    ///< the next entry is one that it leaves
    };
    /// REQUIRES: limit is not Tick::max().
    Turn begin(Tick limit) const noexcept { return {limit, wheel_.currentTick() > limit}; }
    /// The next entry that is due, in order of deadlines and marked as ready; null if the turn is
    /// over. Flushes buckets that have expired, and moves those of their entries down that are not
    /// due. REQUIRES: not isTurningBack().
    TimeoutEntry* next(Turn& turn) noexcept;
    /// The same for as many as the chunk takes, `atMost`, and not for periodic ones. Null if the
    /// next is periodic, if there is none, or if the chunk is in use. The driver claims them, then
    /// calls endChunk().
    Chunk* nextChunk(Turn& turn, std::size_t atMost) noexcept;
    /// Counts what the driver has claimed, and returns how many that were.
    std::size_t endChunk() noexcept;
    /// When the driver is next needed; Tick::max() if never.
    Tick nextWake() const noexcept;

    /// What becomes of a periodic timeout whose run is over.
    enum class Fate {
        ended,
        kept,   ///< for takeLate()
        again,  ///< it has a next run: see again()
    };
    Fate fateOf(TimeoutNode& node, bool hasNext) noexcept;
    /// Places a periodic timeout for its next run.
    Tick again(TimeoutNode& node, NextRun const& next) noexcept;

    // A clock that was set back: see Gathering.

    bool isTurningBack() const noexcept { return gathering_.isTurningBack(); }
    /// Turns the wheel back to `tick`. After a correction what computes its times does so anew.
    /// O(armed buckets).
    Tick turnBack(Tick tick, bool isCorrection) noexcept;
    /// Places what was gathered again, until the turn has moved kPerHold. What was due before is
    /// due now. The reach may change.
    void placeGathered(Turn& turn) noexcept;

    // cancelAll(): see Gathering.

    bool isCancellingAll() const noexcept { return gathering_.isCancelling(); }
    /// Takes all that is pending out of its place, and cancels the further runs of what runs.
    /// Returns how many tasks wait for an executor: they stay in their queue. O(armed buckets).
    std::size_t beginCancelAll() noexcept;
    /// Cancels the next one. Returns false if there is none. `queued` counts those that are still
    /// to be taken from the queue: what enters it later is behind them.
    bool cancelNext(std::size_t& queued) noexcept;
    /// Cancels an entry that was seized, for the call that is under way.
    void cancelForAll(TimeoutEntry& entry, TimeoutWord word) noexcept {
        unlink(entry, word.state());
        cancelGathered(entry);
    }
    /// Returns how many were cancelled since the last time, and adds the nodes to end.
    std::size_t takeCancelled(TimerTaskList& ended) noexcept {
        return gathering_.takeCancelled(ended);
    }
    /// Waits until the driver has marked what it has claimed.
    void endCancelAll() noexcept;

    // stop().

    /// Takes any pending entry out of its list, and no longer counts it; null when there is none.
    TimeoutEntry* takePending() noexcept;
    /// The next periodic timeout that ended by the stop while it ran; null when there is none.
    TimeoutNode* takeLate() noexcept;
    /// None will be taken any more.
    void endLate() noexcept { isLateTaken_ = true; }

    // Hooks that the timer gave up, if their objects are to be notified.

    void keepGivenUp(HookEntry& hook) noexcept {
        if (hook.callsGivenUp()) [[unlikely]]
            givenUp_.add(hook);
    }
    HookEntry* takeGivenUp() noexcept {
        return givenUp_.empty() ? nullptr : &static_cast<HookEntry&>(givenUp_.takeFirst());
    }

    // Looking.

    /// From here on the driver notes what it moves. What it has taken into its chunk, and not
    /// claimed, is ready again.
    Tick beginWalk(PendingWalk& walk) noexcept;
    /// Goes on, until kPerHold entries were found. Returns true at the end.
    bool walkOn(PendingWalk& walk) noexcept;
    void endWalk() noexcept;
    std::size_t pending() const noexcept { return tasks_.pending - chunk_.claimed(); }
    void readInto(TimerStatistics& statistics) const;
    /// Throws std::logic_error that names the first broken invariant. `published` is the next wake
    /// that the driver sees. O(entries).
    void checkInvariants(Tick published) const;

private:
    using Stage = TimerEvent::Stage;
    struct Placed {
        TimerTaskList const* bucket;  ///< null if it is due
        Tick wake = Tick::max();
    };

    bool isObserved() const noexcept { return EventLog::kIsCompiled && isObserved_; }
    /// Observed, or a walk is under way: the driver says what it moves.
    bool isWatched() const noexcept { return isWatched_; }
    Placed place(TimeoutEntry& entry) noexcept;
    Tick placeAgain(TimeoutEntry& entry) noexcept {
        if (isObserved()) [[unlikely]]
            return placeAndRecord(entry, false);
        return place(entry).wake;
    }
    Tick placeAndRecord(TimeoutEntry& entry, bool isNew) noexcept;
    void unlink(TimeoutEntry& entry, TimeoutState state) noexcept {
        if (state == TimeoutState::pending) [[likely]]
            return wheel_.remove(entry);
        unlinkDue(entry, state);
    }
    void unlinkDue(TimeoutEntry& entry, TimeoutState state) noexcept;
    /// Marks an entry that was pending, and is in no list any more.
    void markCancelled(TimeoutEntry& entry, TimeoutWord word, TimeoutState state) noexcept {
        // A push-back that slips in before this store counts as earlier; one after it finds a
        // cancelled entry.
        TimeoutWord{word.deadline(), state}.storeIn(entry);
        TIMINGWHEEL_PROBE_1(cancel, &entry);
        --tasks_.pending;
        ++tasks_.counters.cancelled;
        if (isObserved()) [[unlikely]]
            tasks_.events.record(Stage::cancel, entry);
    }
    bool takeBack(TimeoutEntry& entry) noexcept;
    void wake() noexcept;
    TimeoutEntry* takeDue(Turn const& turn) noexcept;
    TimeoutEntry* expireOrCascade(Turn& turn, TimeoutEntry& entry) noexcept;
    bool expire(TimeoutEntry& entry, TimeoutWord& seen, TimeoutState state) const noexcept;
    void addToChunk(TimeoutEntry& entry) noexcept;
    void fillChunk(Turn& turn, std::size_t atMost) noexcept;
    TimerTaskList const& cascade(TimeoutEntry& entry, Tick deadline) noexcept {
        TimerTaskList const& bucket = wheel_.moveAhead(entry, deadline).bucket();
        if (bucket.level() < flush_->level()) ++cascaded_[flush_->level()];
        TIMINGWHEEL_PROBE_2(cascade, &entry, &bucket);
        return bucket;
    }
    void cascadeWatched(TimeoutEntry& entry, Tick deadline) noexcept;
    void noteAndRecord(Stage stage, TimeoutEntry& entry) noexcept;
    void note(TimeoutEntry& entry) noexcept {
        if (walk_ != nullptr) walk_->note(entry);
    }
    TimeoutEntry* takeGatheredReady() noexcept;
    void gatherReady() noexcept {
        for (TimerTaskList* const list : {&due_, &arrivals_}) gathering_.gather(*list);
    }
    void cancelGathered(TimeoutEntry& entry) noexcept;
    bool correct(TimeoutEntry& entry) noexcept;
    void makeDue(TimeoutEntry& entry) noexcept;
    void recordPlace(Stage stage, TimeoutEntry const& entry, TimerTaskList const& bucket) noexcept;
    void recordWake(TimerTaskList const& bucket, Tick expiration) noexcept;
    void advanceClockAndRecord(Tick tick) noexcept;
    void recordRestart(Tick tick) noexcept;

    TaskBook& tasks_;
    bool const isObserved_;
    bool isWatched_;
    Gate gate_ = Gate::notStarted;
    bool expectsPushBacks_ = false;
    bool isLateTaken_ = false;
    RawTimingWheel wheel_;
    TimerTaskList const* flush_ = nullptr;
    TimerTaskList arrivals_;  // due on arrival, by deadline: wait for the driver's next pass
    TimerTaskList due_;       // those admitted to this pass
    TimerTaskList late_;      // periodic, ended by stop() while they ran
    TimerTaskList givenUp_;
    Gathering gathering_;
    Chunk chunk_;
    std::array<std::uint64_t, LevelGeometry::kMaxLevels> cascaded_{};
    PendingWalk* walk_ = nullptr;  // the one that is under way
    ListCursor readyCursor_;
    std::size_t armed_ = 0;  // buckets in the delay heap, by the last recorded event
};

}  // namespace timingwheel::inline v1::detail
