#pragma once

#include <timingwheel/detail/platform/WideProduct.h>
#include <timingwheel/wheel/TimerTaskList.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// What placing an entry reads of a level. The level's buckets lie right behind it, then all their
/// lanes: so one address leads to all of them. With a million pending, an operation waits for
/// memory, and how many are under way depends on how many loads each of them has.
///
/// Slots are counted back from the *last* tick that the level can hold. As that of the finest level
/// moves with each tick, its last one here is where the turn after the clock's ends.
///
/// src/package/timingwheel-gdb.py reads `shape_`, and the buckets, by where they lie.
///
/// Units          ticks
/// Complexity     O(1)
/// Memory         64 bytes; the first half has all but what arming a bucket needs
/// Thread safety  none: belongs to its level
class alignas(TimerTaskList) BucketRing {
public:
    BucketRing(std::uint32_t size, std::int64_t granularity, std::int64_t interval) noexcept
        : reciprocal_{reciprocalOf(granularity, interval)},
          shape_{size},
          granularity_{granularity} {}

    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(shape_); }
    std::int64_t granularity() const noexcept { return granularity_; }
    /// The next coarser level.
    BucketRing* above() const noexcept { return above_; }
    void standBelow(BucketRing* above) noexcept { above_ = above; }

    std::int64_t last() const noexcept { return last_; }
    /// The last tick is the end of a slot.
    void setLast(std::int64_t last, std::uint32_t slot) noexcept {
        assert(slot < size());
        last_ = last;
        shape_ = (shape_ & kLanes) | std::uint64_t{slot} << 32U | size();
    }
    /// Moves the last tick on by some slots.
    void moveLast(std::int64_t by) noexcept {
        std::uint64_t const slot = lastSlot() + static_cast<std::uint64_t>(by);
        setLast(last_ + by * granularity_,
                static_cast<std::uint32_t>(slot < size() ? slot : slot % size()));
    }

    /// False for the finest level, where a slot is a tick, and for a level of weeks and more, with
    /// ticks of a millisecond.
    bool isNear() const noexcept { return reciprocal_ != 0; }
    /// How many slots lie behind that of `tick`, up to the last. REQUIRES: tick <= last().
    std::uint64_t slotsBehind(std::int64_t tick) const noexcept {
        return ticksBehind(tick) / static_cast<std::uint64_t>(granularity_);
    }
    /// The same, cheaper. REQUIRES: isNear().
    std::uint64_t nearSlotsBehind(std::int64_t tick) const noexcept {
        assert(isNear());
        return upperHalfOfProduct(ticksBehind(tick), reciprocal_);
    }
    /// The same for the finest level.
    std::uint64_t ticksBehind(std::int64_t tick) const noexcept {
        assert(tick <= last_);
        // Subtracted without a sign, or g++ multiplies the difference with one.
        return static_cast<std::uint64_t>(last_) - static_cast<std::uint64_t>(tick);
    }

    /// The slot that lies `behind` slots before the last. As that is less than two turns, the
    /// smaller of two unsigned numbers replaces the modulo: before slot 0 the difference wraps.
    std::uint64_t slotAt(std::uint64_t behind) const noexcept {
        std::uint64_t const slot = lastSlot() - behind;
        return (std::min)(slot, slot + size());
    }
    /// Where that slot starts.
    std::int64_t startAt(std::uint64_t behind) const noexcept {
        return last_ + 1 - static_cast<std::int64_t>(behind + 1) * granularity_;
    }

    /// By slot, like their lanes.
    TimerTaskList* buckets() noexcept { return reinterpret_cast<TimerTaskList*>(this + 1); }
    TimerTaskList::Lanes* lanes() noexcept {
        return reinterpret_cast<TimerTaskList::Lanes*>(buckets() + size());
    }
    /// True if entries go to the lanes, not to the first list of their bucket.
    bool usesLanes() const noexcept { return (shape_ & kLanes) != 0; }
    void useLanes(bool use) noexcept { shape_ = use ? shape_ | kLanes : shape_ & ~kLanes; }

private:
    static constexpr std::uint64_t kLanes = std::uint64_t{1} << 63U;

    std::uint64_t lastSlot() const noexcept { return (shape_ & ~kLanes) >> 32U; }

    /// n / granularity is the upper half of n * reciprocal for every n below the interval. With
    /// m = 2^64 / granularity, rounded up, n * m / 2^64 is too large by less than
    /// n * granularity / 2^64 of a part 1 / granularity (Granlund and Montgomery 1994, theorem
    /// 4.2); for a power of two by nothing. 0 where that is not enough.
    static std::uint64_t reciprocalOf(std::int64_t granularity, std::int64_t interval) noexcept {
        auto const divisor = static_cast<std::uint64_t>(granularity);
        bool const isExact = std::has_single_bit(divisor) ||
                             static_cast<std::uint64_t>(interval) <= UINT64_MAX / divisor;
        return granularity > 1 && isExact ? UINT64_MAX / divisor + 1 : 0;
    }

    std::int64_t last_ = 0;
    std::uint64_t reciprocal_;
    std::uint64_t shape_;  // how many slots, which of them is the last, and whether it uses lanes
    BucketRing* above_ = nullptr;
    std::int64_t granularity_;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
