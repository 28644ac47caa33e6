#pragma once

#include <timingwheel/Tick.h>
#include <timingwheel/detail/platform/export.h>
#include <timingwheel/wheel/DelayHeap.h>
#include <timingwheel/wheel/LevelGeometry.h>
#include <timingwheel/wheel/TimerTaskList.h>
#include <timingwheel/wheel/TimingWheelLevel.h>
#include <timingwheel/wheel/detail/BucketRing.h>
#include <timingwheel/wheel/detail/FlushedEntries.h>

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace timingwheel::inline v1 {

struct TimingWheelOptions {
    /// Slots of each level: 2 to 1,048,576.
    std::int64_t wheelSize = 20;
    /// Slots of the first levels, the finest first; the last is repeated above. Takes the place of
    /// `wheelSize`. {60, 60, 24, 7} with ticks of a second are levels as in a clock.
    std::vector<std::int64_t> levelSizes = {};
    /// Where the wheel's clock begins. Slots are counted from tick 0.
    Tick start{0};
    /// When crowded buckets are emptied by lanes (see TimerTaskList), out of order: once about
    /// this many different entries were in the wheel, at most 200,000; 0 is always, SIZE_MAX never.
    /// Below some ten thousand the caches hold all entries, and lanes cost more than they gain.
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
/// deadline lies in. The first entry that overflows the levels builds those that it needs. When a
/// bucket expires its entries are placed again: each lands on a lower level, nearer to its
/// deadline, or is due. That is a cascade, and a timeout makes at most one per level. So adding and
/// cancelling take the same number of steps however many are pending. The delay heap knows the
/// earliest bucket, so nothing needs to tick while nothing is due.
///
/// Time is spent on memory: three cache lines to take an entry out, and the next entry of a bucket
/// to wait for. So the arithmetic is short and has no division: the fewer instructions an operation
/// has, the more operations the processor has under way. And crowded buckets have lanes.
///
/// Flow: `place` puts an entry into a bucket and arms it; `flush` moves the clock to the earliest
/// bucket's expiration; `nextDue` places its entries again, and returns those that are due one by
/// one. Nothing here calls back: functions return what the caller must know.
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
/// Memory         32 bytes and one bit for each bucket, and 128 that stay untouched until the wheel
///                is crowded (none in a level of more than 65,536 buckets); only `reserve`, `add`
///                and `reschedule` allocate
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
/// W2 to W5 hold for the deadline by which an entry was placed. If its deadline was moved later
/// while it was queued, or no level reaches it (it is then in the farthest bucket), only
/// expiration <= d holds, and placing it again is a new place, not a cascade.
///
/// Source: G. Varghese, T. Lauck, "Hashed and Hierarchical Timing Wheels", 1987, scheme 7; buckets
/// in a delay queue: Apache Kafka's `TimingWheel`.
class TIMINGWHEEL_API RawTimingWheel {
public:
    /// One entry in this many is a sample, by its address: only these are counted, each time that
    /// one is added or moved.
    static constexpr std::uint32_t kOneIn = 128;
    static bool isSample(TimerTaskEntry const& entry, std::uint32_t oneIn = kOneIn) noexcept {
        return TimerTaskList::spread(entry) < (std::uint64_t{1} << 32U) / oneIn;
    }
    /// One in this many sets one of 64 bits: they show how many different entries came, be it that
    /// no level could be built for one. Removals need do nothing.
    static constexpr std::uint32_t kBitOneIn = 1'024;

    explicit RawTimingWheel(TimingWheelOptions options);
    RawTimingWheel(RawTimingWheel const&) = delete;
    RawTimingWheel& operator=(RawTimingWheel const&) = delete;

    /// The clock: all buckets that expired before it have been flushed.
    Tick currentTick() const noexcept { return Tick::exactly(clock_); }
    /// Entries in the wheel, flushed and gathered ones included. O(entries): it counts them. A
    /// counter that each operation keeps would be the dearest thing in it.
    std::size_t size() const noexcept;
    /// O(armed buckets).
    bool empty() const noexcept;

    /// Never later than the earliest deadline. Earlier if an entry has to cascade first, or if the
    /// bucket's entries were cancelled or moved since. O(1).
    std::optional<Tick> nextExpiration() const noexcept {
        if (!flushed_.empty()) return Tick::exactly(clock_);
        if (heap_.empty()) return std::nullopt;
        return Tick::exactly(heap_.earliest());
    }

    /// Builds the levels that `deadline` needs. Strong exception safety.
    void reserve(Tick deadline) {
        if (deadline.value() >= levels_.back().limit()) buildLevels(deadline.value());
    }
    /// Deadlines before this need no further level.
    Tick reach() const noexcept { return Tick{levels_.back().limit()}; }

    /// Puts an entry into the bucket of its deadline, unless it is due.
    /// REQUIRES: the entry is in no wheel.
    Placement place(TimerTaskEntry& entry) noexcept { return place(entry, entry.deadline()); }
    /// The same for a caller who knows the entry's deadline.
    Placement place(TimerTaskEntry& entry, Tick deadline) noexcept {
        return placeWith(entry, deadline, false);
    }
    /// The same; builds the levels that the deadline needs, and stores it in the entry, with the
    /// owner's bits 0. Strong exception safety.
    Placement add(TimerTaskEntry& entry, Tick deadline) { return placeWith(entry, deadline, true); }

    /// Takes an entry out. Its bucket stays armed until it expires.
    /// REQUIRES: the entry is in this wheel.
    void remove(TimerTaskEntry& entry) noexcept {
        assert(entry.isQueued() && mayHold(entry));
        TimerTaskList::remove(entry);
    }

    /// Moves an entry to another bucket. If it is due, takes it out. Cheaper than remove and place.
    /// REQUIRES: the entry is in this wheel.
    Placement move(TimerTaskEntry& entry, Tick deadline) noexcept {
        return moveWith(entry, deadline, false);
    }
    /// The same; builds levels and stores the deadline, as add() does. Strong exception safety.
    Placement reschedule(TimerTaskEntry& entry, Tick deadline) {
        return moveWith(entry, deadline, true);
    }
    /// The same as move, for a caller who knows that it is not due.
    Placement moveAhead(TimerTaskEntry& entry, Tick deadline) noexcept {
        return moveAheadWith(entry, deadline, false);
    }

    /// Moves the clock to `tick` or as near as it can, and returns the clock. It goes
    ///
    ///   - never back,
    ///   - not past the expiration of a bucket that holds an entry,
    ///   - past at most 64 buckets whose entries were all cancelled: that bounds the work.
    Tick advanceClock(Tick tick) noexcept {
        if (tick.value() != clock_ || hasFlushed()) return advanceClockFar(tick);
        noteQuiet();
        return tick;
    }
    /// Moves the clock to `tick`, never back, and returns true, if that is the same turn of the
    /// finest level, no armed bucket expires by then, and no flushed entries wait. Otherwise
    /// returns false and changes nothing.
    bool advanceQuietly(Tick tick) noexcept {
        if (tick.value() >= quietUntil_) return false;
        // Not std::max: each step would wait for the last one's store.
        if (tick.value() > clock_) [[likely]]
            clock_ = tick.value();
        return true;
    }

    /// Moves the clock to the earliest bucket that expires by `limit`, whose entries then wait to
    /// be taken: none, if all were cancelled since. Returns the bucket, which is no longer armed;
    /// null if there is no such bucket. O(levels).
    /// REQUIRES: all entries of the last flush have been taken.
    TimerTaskList const* flush(Tick limit) noexcept {
        return heap_.earliest() > limit.value() ? nullptr : &flushEarliest();
    }
    /// True while entries of the last flush wait to be taken.
    bool hasFlushed() const noexcept { return !flushed_.empty(); }
    /// The next entry of the last flush; null if there is none. Remove it at once if its deadline
    /// has been reached; otherwise move it there.
    TimerTaskEntry* nextFlushed() noexcept { return flushed_.next(); }
    /// The same, taken out: to be placed again, or run. REQUIRES: hasFlushed().
    TimerTaskEntry& takeFlushed() noexcept { return flushed_.takeNext(); }

    /// Places entries of the last flush again; those that are due stay. Looks at up to `atMost` of
    /// them, and at most kAtOnce, so go on while there are some. Takes them off `atMost`. Returns
    /// how many went to a lower level. Cheaper than nextFlushed and move.
    std::size_t cascade(std::size_t& atMost) noexcept;

    /// Takes out an entry of the last flush that is due, and returns it; null if none is left.
    /// Those that are not go to the buckets of their deadlines. Looks at up to `atMost` entries.
    TimerTaskEntry* nextDue(std::size_t& atMost) noexcept {
        while (atMost > 0) {
            TimerTaskEntry* const entry = flushed_.next();
            if (entry == nullptr) break;
            if (distanceTo(entry->deadline()) <= 0) {
                --atMost;
                remove(*entry);
                return entry;
            }
            cascade(atMost);
        }
        return nullptr;
    }
    TimerTaskEntry* nextDue() noexcept {
        std::size_t all = SIZE_MAX;
        return nextDue(all);
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
        return gathered_.empty() ? nullptr : &gathered_.takeNext();
    }

    /// A place on a walk through all lists of the wheel: of its buckets, then of what was flushed,
    /// and gathered. By default the first.
    struct WalkPlace {
        std::size_t level = 0;
        std::uint64_t slot = 0;
        unsigned list = 0;
    };
    /// Goes on from `place` to a list that holds entries, and returns it. Null at the end, and also
    /// after `buckets` buckets without any; that is then 0. The caller may change the order in the
    /// list. O(buckets).
    TimerTaskList::List* nextList(WalkPlace& place, std::size_t& buckets) noexcept;

    std::span<TimingWheelLevel const> levels() const noexcept { return levels_; }
    DelayHeap const& delayHeap() const noexcept { return heap_; }

    enum class Deadlines { asPlaced, mayBeLater };
    /// Throws std::logic_error that names the first broken invariant; std::bad_alloc. O(entries).
    void checkInvariants(Deadlines deadlines = Deadlines::asPlaced) const;

private:
    /// The distance is below 2^60: a tick has 60 bits, and the clock is never before the origin.
    std::int64_t distanceTo(Tick deadline) const noexcept { return deadline.value() - clock_; }

    void addSample(TimerTaskEntry const& entry) noexcept;

    // Each of these, if `owns`, builds the levels that the deadline needs, which may throw, and
    // stores the deadline. That store comes before those into neighbours, which wait for memory:
    // behind them it made a move a tenth dearer.
    Placement placeWith(TimerTaskEntry& entry, Tick deadline, bool owns) {
        assert(!entry.isQueued());
        if (distanceTo(deadline) <= 0) {
            if (owns) entry.setDeadline(deadline);
            return {};
        }
        if (isSample(entry)) [[unlikely]]
            addSample(entry);
        Spot const spot = spotOf(deadline);
        if (spot.ring == nullptr) [[unlikely]]
            return linkFar(entry, deadline, owns);
        if (owns) entry.setDeadline(deadline);
        return link(entry, spot);
    }
    Placement moveWith(TimerTaskEntry& entry, Tick deadline, bool owns) {
        if (distanceTo(deadline) > 0) [[likely]]
            return moveAheadWith(entry, deadline, owns);
        if (owns) entry.setDeadline(deadline);
        remove(entry);
        return {};
    }
    Placement moveAheadWith(TimerTaskEntry& entry, Tick deadline, bool owns) {
        assert(entry.isQueued() && mayHold(entry) && distanceTo(deadline) > 0);
        if (isSample(entry)) [[unlikely]]
            addSample(entry);
        Spot const spot = spotOf(deadline);
        if (spot.ring == nullptr) [[unlikely]]
            return linkFar(entry, deadline, owns);
        if (owns) entry.setDeadline(deadline);
        TimerTaskList::bridge(entry);
        return link(entry, spot);
    }
    Placement linkFar(TimerTaskEntry& entry, Tick deadline, bool owns);

    /// A slot of a level, counted back from the level's end. No level if it has to be searched for.
    struct Spot {
        detail::BucketRing* ring = nullptr;
        std::uint64_t behind = 0;
    };
    /// Where a deadline belongs that is ahead of the clock.
    Spot spotOf(Tick tick) const noexcept {
        std::int64_t const deadline = tick.value();
        auto const distance = static_cast<std::uint64_t>(distanceTo(tick));
        auto const zeros = static_cast<unsigned>(std::countl_zero(distance));
        detail::BucketRing* ring = firstRing_[zeros];
        if (ring == nullptr) [[unlikely]] {
            ring = finest_;
            if (distance < ring->size()) return {ring, ring->ticksBehind(deadline)};
            ring = ring->above();
            if (ring == nullptr) return {};
        }
        while (deadline > ring->last()) {
            ring = ring->above();
            if (ring == nullptr) return {};
        }
        return {ring, ring->nearSlotsBehind(deadline)};
    }
    Spot farSpotOf(std::int64_t deadline) noexcept;

    Placement link(TimerTaskEntry& entry, Spot spot) noexcept {
        std::uint64_t const slot = spot.ring->slotAt(spot.behind);
        return linkInto(spot.ring->openList(slot), entry, spot, slot);
    }
    Placement linkInto(TimerTaskList::List& list, TimerTaskEntry& entry, Spot spot,
                       std::uint64_t slot) noexcept {
        TimerTaskList& bucket = spot.ring->buckets()[slot];
        // An armed bucket has its stamp already: a stamp comes off before the clock passes it.
        if (!TimerTaskList::add(entry, list) || bucket.isArmed()) [[likely]]
            return {bucket, false};
        return {bucket, arm(bucket, spot)};
    }
    /// What comes from a lane of another bucket goes to the same lane, if the level uses lanes.
    static TimerTaskList::List& listFrom(unsigned list, detail::BucketRing& ring,
                                         std::uint64_t slot) noexcept {
        if (!ring.usesLanes()) [[likely]]
            return ring.buckets()[slot].list(0);
        return list != 0 ? ring.lanes()[slot].lists[list - 1] : ring.openList(slot);
    }
    /// Returns true if the bucket is now the earliest.
    bool arm(TimerTaskList& bucket, Spot spot) noexcept;

    /// For assertions: false if the entry is known to be in another wheel. Looks at no more than
    /// kMostLookedAt entries of its bucket, so a crowded one does not make it slow.
    bool mayHold(TimerTaskEntry const& entry) const noexcept;
    static constexpr std::size_t kMostLookedAt = 64;

    TimerTaskList* bucketAt(WalkPlace const& place) noexcept;
    void moveClock(std::int64_t tick) noexcept;
    /// Notes the tick until which advanceQuietly() is true.
    /// REQUIRES: no flushed entries wait.
    void noteQuiet() noexcept {
        flushed_.forgetBucket();
        quietUntil_ = (std::min)(heap_.earliest(), nextTurn_);
    }
    Tick advanceClockFar(Tick tick) noexcept;
    void useLanes() noexcept;
    void useLanesBelow(std::uint32_t above) noexcept;
    void useNextLane() noexcept;
    /// About so many entries go to one lane in a row.
    static constexpr std::uint32_t kInARow = 2'048;
    /// After so many, a cascade looks whether they are a crowd.
    static constexpr std::size_t kAtOnce = 1'024;

    TimerTaskList const& linkFrom(unsigned list, TimerTaskEntry& entry, Spot spot) noexcept;
    TimerTaskList const& linkElsewhere(TimerTaskEntry& entry, Tick deadline,
                                       unsigned list) noexcept;
    TimerTaskList& linkFinest(TimerTaskEntry& entry, std::int64_t deadline, unsigned list) noexcept;
    TimerTaskList& flushEarliest() noexcept;
    TimerTaskList& disarmEarliest() noexcept;
    void buildLevels(std::int64_t deadline);
    void noteLevels() noexcept;

    std::int64_t clock_;
    // Before this tick only the clock changes: no bucket expires, and the finest level begins no
    // turn. From a flush until all is taken and the clock is told a tick again, it is in the past.
    std::int64_t quietUntil_ = 0;
    std::int64_t nextTurn_ = 0;  // of the finest level
    detail::BucketRing* finest_ = nullptr;
    /// The first level that may hold a distance, by the zeros before its bits: null if that is the
    /// finest. If it does not, one above it does, or it is one of those that divide.
    std::array<detail::BucketRing*, 64> firstRing_{};
    std::vector<TimingWheelLevel> levels_;
    DelayHeap heap_;
    detail::FlushedEntries flushed_;
    detail::FlushedEntries gathered_;
    TimerTaskList const* flushedFrom_ = nullptr;
    std::int64_t origin_;  // 0, or the start if that is negative: no tick comes before
    LevelGeometry geometry_;
    unsigned lane_ = 1;       // the one that entries go to
    unsigned inLane_ = 0;     // samples since
    std::uint64_t bits_ = 0;  // of samples, by their addresses
    int crowdedFrom_;         // how many bits
    bool isCrowded_;
};

}  // namespace timingwheel::inline v1
