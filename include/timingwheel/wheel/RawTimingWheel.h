#pragma once

#include <timingwheel/Tick.h>
#include <timingwheel/detail/platform/export.h>
#include <timingwheel/wheel/DelayHeap.h>
#include <timingwheel/wheel/FlushedEntries.h>
#include <timingwheel/wheel/LevelGeometry.h>
#include <timingwheel/wheel/TimerTaskList.h>
#include <timingwheel/wheel/TimingWheelLevel.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace timingwheel {
inline namespace v1 {

struct TimingWheelOptions {
    /// Slots of each level: 2 to 1,048,576.
    std::int64_t wheelSize = 20;
    /// Slots of the first levels, the finest first; the last is repeated above. Takes the place of
    /// `wheelSize`. {60, 60, 24, 7} with ticks of a second are levels as in a clock.
    std::vector<std::int64_t> levelSizes = {};
    /// Where the wheel's clock begins. Slots are counted from tick 0.
    Tick start{0};
    /// With this many entries or more, crowded buckets are emptied by lanes (see TimerTaskList),
    /// out of order. A wheel that has never held as many empties buckets in the order in which
    /// entries came. Below some ten thousand the caches hold them, and lanes cost more than they
    /// gain.
    std::size_t lanesFrom = 32'768;
};

/// What became of an entry that was placed, and what the caller must do next.
class [[nodiscard("an entry that is due was not stored: run it")]] Placement {
public:
    Placement() noexcept = default;
    Placement(TimerTaskList const& bucket, bool earliest) noexcept
        : bucket_{&bucket}, earliest_{earliest} {}

    /// The deadline was reached already: the entry was *not* stored, and the caller runs it.
    bool isDue() const noexcept { return bucket_ == nullptr; }
    /// The entry's bucket is newly armed and now the earliest. Unless flushed entries still wait,
    /// `nextExpiration()` has become earlier, so the caller wakes a driver that sleeps.
    bool isEarliest() const noexcept { return earliest_; }
    /// Where the entry went. REQUIRES: not due.
    TimerTaskList const& bucket() const noexcept { return *bucket_; }

private:
    TimerTaskList const* bucket_ = nullptr;
    bool earliest_ = false;
};

/// The hierarchical timing wheel, without the type of its entries: `TimingWheel` adds that.
///
/// Level k has `wheelSize` buckets of wheelSize^k ticks each, unless `levelSizes` says otherwise: a
/// bucket is as wide as the level below it. An entry goes to the lowest level whose range its
/// deadline lies in. The first entry that overflows the levels builds those that it
/// needs. When a bucket expires its entries are placed again: each lands on a lower level, nearer
/// to its deadline, or is due. That is a cascade, and a timeout makes at most one per level. So
/// adding and cancelling take the same number of steps however many are pending. The delay heap
/// knows the earliest bucket, so nothing needs to tick while nothing is due.
///
/// Time is spent on memory: three cache lines to take an entry out, and the next entry of a bucket
/// to wait for. So the arithmetic is short and has no division: the fewer instructions an operation
/// has, the more operations the processor has under way. And crowded buckets have lanes.
///
/// Flow: `place` puts an entry into a bucket and arms it; `flush` moves the clock to the earliest
/// bucket's expiration and takes the bucket's entries out; `takeFlushed` hands them over one by
/// one, to be placed again or run. Nothing here calls back: functions return what the caller must
/// know.
///
/// Worked example, 20 slots, clock at 0 (level:slot@expiration):
///
///     deadline 5     0:5@5
///     deadline 25    1:1@20    at 20 cascades to 0:5@25
///     deadline 400   2:1@400   due at 400, straight from level 2
///     deadline 401   2:1@400   at 400 cascades to 0:1@401, skipping level 1
///
/// Units          ticks; nothing is rounded
/// Complexity     place, arming and flushing O(levels): log_wheelSize of the longest delay; remove
///                and nextExpiration O(1)
/// Memory         64 bytes and one bit for each bucket; only `reserve` allocates
/// Thread safety  none: one thread at a time
/// Lifetime       entries belong to the caller; the wheel's destructor unlinks those it still holds
/// Errors         std::invalid_argument for an option out of range
///
/// Invariants, checked by checkInvariants() except W5, which only a move can show:
///   W1  a level's clock is the wheel's clock rounded down to the level's granularity
///   W2  bucket i of a level holds only deadlines d with (d / granularity) mod size = i
///   W3  a bucket that holds an entry is armed, and expiration <= d < expiration + granularity
///   W4  clock + granularity <= d < clock + interval, except in a bucket that expires exactly at
///       the clock and waits for its flush
///   W5  placed again after its bucket expired, an entry lands on a lower level or is due
///   H1  a bucket is in the delay heap at most once, and exactly while it is armed
///   H2  its expiration does not change while it is there
///   L1  an entry is in its bucket's first lane, or in the one that its address says
/// W2 to W5 hold for the deadline by which an entry was placed. If its deadline was moved later
/// while it was queued, or no level reaches it (it is then in the farthest bucket), only
/// expiration <= d holds, and placing it again is a new place, not a cascade.
///
/// Source: G. Varghese, T. Lauck, "Hashed and Hierarchical Timing Wheels", 1987, scheme 6; buckets
/// in a delay queue: Apache Kafka's `TimingWheel`.
class TIMINGWHEEL_API RawTimingWheel {
public:
    static constexpr std::int64_t kMinWheelSize = LevelGeometry::kMinWheelSize;
    static constexpr std::int64_t kMaxWheelSize = LevelGeometry::kMaxWheelSize;
    static constexpr std::size_t kMaxLevels = LevelGeometry::kMaxLevels;
    /// The finest level uses lanes only after one of its buckets held so many entries. Most hold
    /// few, which have just come from a coarser level and are still in the cache.
    static constexpr std::size_t kCrowdedBucket = 8;

    explicit RawTimingWheel(TimingWheelOptions options);
    ~RawTimingWheel();
    RawTimingWheel(RawTimingWheel const&) = delete;
    RawTimingWheel& operator=(RawTimingWheel const&) = delete;

    /// The clock: all buckets that expired before it have been flushed.
    Tick currentTick() const noexcept { return tickOf(clock_); }
    /// Slots of the finest level, and of all of them unless `levelSizes` says otherwise.
    std::int64_t wheelSize() const noexcept { return geometry_.sizeOf(0); }
    LevelGeometry const& geometry() const noexcept { return geometry_; }
    /// Entries in the wheel, flushed and gathered ones included.
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    /// Never later than the earliest deadline. Earlier if an entry has to cascade first, or if the
    /// bucket's entries were cancelled or moved since. O(1).
    std::optional<Tick> nextExpiration() const noexcept {
        if (!flushed_.empty()) return tickOf(clock_);
        if (heap_.empty()) return std::nullopt;
        return tickOf(heap_.top().expiration);
    }

    /// Builds the levels that `deadline` needs. Strong exception safety; the only thing that
    /// allocates.
    void reserve(Tick deadline) {
        if (positionOf(deadline) >= reach_) buildLevels(positionOf(deadline));
    }
    /// Deadlines before this need no further level.
    Tick reach() const noexcept { return tickOf(reach_); }

    /// Puts an entry into the bucket of its deadline, unless it is due.
    /// REQUIRES: the entry is in no wheel.
    Placement place(TimerTaskEntry& entry) noexcept { return place(entry, entry.deadline()); }
    /// The same for a caller who knows the entry's deadline.
    Placement place(TimerTaskEntry& entry, Tick deadline) noexcept {
        if (positionOf(deadline) <= clock_) return {};
        return placeAhead(entry, deadline);
    }
    /// The same for a caller who knows that it is not due.
    Placement placeAhead(TimerTaskEntry& entry, Tick deadline) noexcept {
        assert(!entry.isQueued() && positionOf(deadline) > clock_);
        // An entry that nobody reserved for may lie beyond the last level: it waits in the farthest
        // bucket and is placed again from there. So some level always reaches.
        std::int64_t position = positionOf(deadline);
        if (position >= reach_) [[unlikely]]
            position = reach_ - 1;
        TimingWheelLevel* level = levels_.data();
        while (position >= level->limit()) ++level;
        auto const [bucket, start] = level->slotOf(position);
        bucket.add(entry, size_ < level->lanesFrom() ? 0 : TimerTaskList::laneOf(entry));
        ++size_;
        // An armed bucket has this stamp already: a stamp comes off before the clock passes it.
        return {bucket, !bucket.isArmed() && arm(bucket, start)};
    }

    /// Takes an entry out. Its bucket stays armed until it expires.
    /// REQUIRES: the entry is in this wheel.
    void remove(TimerTaskEntry& entry) noexcept {
        assert(entry.isQueued() && size_ > 0 && mayHold(entry));
        TimerTaskList::remove(entry);
        --size_;
    }

    /// Moves the clock to `tick` or as near as it can, and returns the clock. It goes
    ///
    ///   - never back,
    ///   - not past the expiration of a bucket that holds an entry,
    ///   - past at most 64 buckets whose entries were all cancelled: that bounds the work.
    Tick advanceClock(Tick tick) noexcept;
    /// Moves the clock to `tick`, never back, and returns true, if no armed bucket expires by then
    /// and no flushed entries wait. Otherwise returns false and changes nothing.
    bool advanceIdleClock(Tick tick) noexcept {
        std::int64_t const position = positionOf(tick);
        if (position >= heap_.top().expiration || hasFlushed()) return false;
        if (position > clock_) moveClock(position);
        return true;
    }

    /// Which bucket was flushed.
    struct Flush {
        std::uint32_t level;
        std::uint32_t slot;
        Tick expiration;
    };
    /// Moves the clock to the earliest bucket that expires by `limit` and takes its entries out.
    /// There may be none: all may have been cancelled since. The bucket can be used again at once.
    /// Returns nothing if there is no such bucket. O(levels).
    /// REQUIRES: all entries of the last flush have been taken.
    std::optional<Flush> flush(Tick limit) noexcept {
        if (heap_.top().expiration > positionOf(limit)) return std::nullopt;
        return flushEarliest();
    }
    /// True while entries of the last flush wait to be taken.
    bool hasFlushed() const noexcept { return !flushed_.empty(); }
    /// The next entry of the last flush, taken out. Place it again, unless its deadline has been
    /// reached. REQUIRES: hasFlushed().
    TimerTaskEntry& takeFlushed() noexcept {
        --size_;
        return flushed_.takeNext();
    }

    /// Takes out any entry, gathered ones first, then those of the earliest bucket; nothing if the
    /// wheel is empty. The clock does not move.
    TimerTaskEntry* takeAny() noexcept;

    /// Takes all entries out of their buckets, and keeps them until they are taken or removed: they
    /// do not expire meanwhile. Buckets stay armed. O(armed buckets).
    void gatherAll() noexcept;
    /// Gathers all entries, disarms all buckets, and sets the clock to `tick`, also back. The
    /// caller places again what it gathered; until then only the size counts it. O(armed buckets).
    /// REQUIRES: tick >= 0, or >= the start if that is negative.
    void restart(Tick tick) noexcept;
    /// The next gathered entry, taken out; nothing if there is none.
    TimerTaskEntry* takeGathered() noexcept {
        if (gathered_.empty()) return nullptr;
        --size_;
        return &gathered_.takeNext();
    }

    std::span<TimingWheelLevel const> levels() const noexcept { return levels_; }
    DelayHeap const& delayHeap() const noexcept { return heap_; }

    /// Positions count from the wheel's origin: 0, or the start if that is negative. So they are
    /// never negative, as Kafka's formulas need.
    std::int64_t positionOf(Tick tick) const noexcept { return tick.value() - origin_; }
    Tick tickOf(std::int64_t position) const noexcept { return Tick{position + origin_}; }

    enum class Deadlines { asPlaced, mayBeLater };
    /// Throws std::logic_error that names the first broken invariant; std::bad_alloc. O(entries).
    void checkInvariants(Deadlines deadlines = Deadlines::asPlaced) const;

private:
    /// Returns true if the bucket is now the earliest.
    bool arm(TimerTaskList& bucket, std::int64_t expiration) noexcept {
        bool const isEarliest = expiration < heap_.top().expiration;
        bucket.arm(expiration);
        heap_.push(bucket);
        return isEarliest;
    }

    /// For assertions: false if the entry is known to be in another wheel. Looks at no more than
    /// kMostLookedAt entries of its bucket, so a crowded one does not make it slow.
    bool mayHold(TimerTaskEntry const& entry) const noexcept;
    static constexpr std::size_t kMostLookedAt = 64;

    /// Nearly every step moves only the finest level's clock.
    void moveClock(std::int64_t position) noexcept {
        if (position >= nextTurn_) return moveClockToTurn(position);
        clock_ = position;
        levels_.front().moveFinestClock(position);
    }
    void moveClockToTurn(std::int64_t position) noexcept;

    Flush flushEarliest() noexcept;
    TimerTaskList& disarmEarliest() noexcept;
    void buildLevels(std::int64_t position);

    std::int64_t clock_ = 0;
    std::int64_t origin_;
    std::int64_t reach_ = 0;
    std::int64_t nextTurn_ = 0;  // when the finest level begins one, which moves the next level
    std::size_t size_ = 0;
    std::vector<TimingWheelLevel> levels_;
    DelayHeap heap_;
    FlushedEntries flushed_;
    FlushedEntries gathered_;
    std::uint32_t flushedLevel_ = kMaxLevels;  // none
    LevelGeometry geometry_;
    std::size_t lanesFrom_;
};

}  // namespace v1
}  // namespace timingwheel
