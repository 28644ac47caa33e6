#pragma once

#include <timingwheel/detail/platform/WideProduct.h>
#include <timingwheel/wheel/TimerTaskList.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>

namespace timingwheel::inline v1::detail {

/// What placing an entry reads of a level. The level's buckets lie right behind it, then all their
/// lanes: so one address leads to all of them. The lists that entries go to at present lie at equal
/// distances, first lists or lanes: no branch tells them apart. With a million pending, an
/// operation waits for memory, and how many are under way depends on how short each of them is.
///
/// Slots are counted back from the *last* tick that the level can hold. As that of the finest level
/// moves with each tick, its last one here is where the turn after the clock's ends.
///
/// src/package/timingwheel-gdb.py reads `size_`, and the buckets, by where they lie.
///
/// Units          ticks
/// Complexity     O(1)
/// Memory         64 bytes, a cache line
/// Thread safety  none: belongs to its level
class alignas(64) BucketRing {
public:
    BucketRing(std::uint32_t size, std::int64_t granularity, std::int64_t interval) noexcept
        : reciprocal_{reciprocalOf(granularity, interval)},
          size_{size},
          granularity_{granularity} {}

    std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(size_); }
    std::int64_t granularity() const noexcept { return granularity_; }
    /// The next coarser level.
    BucketRing* above() const noexcept { return above_; }
    void standBelow(BucketRing* above) noexcept { above_ = above; }

    std::int64_t last() const noexcept { return last_; }
    /// The last tick is the end of a slot.
    void setLast(std::int64_t last, std::uint32_t slot) noexcept {
        assert(slot < size());
        last_ = last;
        lastSlot_ = slot;
    }
    /// Moves the last tick on by some slots.
    void moveLast(std::int64_t by) noexcept {
        std::uint64_t const slot = lastSlot_ + static_cast<std::uint64_t>(by);
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
        std::uint64_t const slot = lastSlot_ - behind;
        return (std::min)(slot, slot + size_);
    }
    /// Where that slot starts.
    std::int64_t startAt(std::uint64_t behind) const noexcept {
        return last_ + 1 - static_cast<std::int64_t>(behind + 1) * granularity_;
    }

    /// By slot.
    TimerTaskList* buckets() noexcept { return reinterpret_cast<TimerTaskList*>(this + 1); }
    TimerTaskList::Lanes* lanes() noexcept {
        return reinterpret_cast<TimerTaskList::Lanes*>(buckets() + size_);
    }

    /// The list that entries go to in the bucket of a slot.
    TimerTaskList::List& openList(std::uint64_t slot) noexcept {
        return *std::launder(reinterpret_cast<TimerTaskList::List*>(open_ + slot * openStride_));
    }
    /// From now on it is that one: 0 or a lane. REQUIRES: for a lane, the buckets have some.
    void open(unsigned list) noexcept {
        auto* const first = list == 0 ? static_cast<void*>(buckets()) : &lanes()->lists[list - 1];
        open_ = static_cast<std::byte*>(first);
        openStride_ = list == 0 ? sizeof(TimerTaskList) : sizeof(TimerTaskList::Lanes);
    }
    /// True if entries go to a lane, not to the first list of their bucket.
    bool usesLanes() const noexcept { return openStride_ != sizeof(TimerTaskList); }

private:
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
    std::uint64_t size_;
    std::uint64_t lastSlot_ = 0;
    std::byte* open_ = reinterpret_cast<std::byte*>(this + 1);  // the one of slot 0
    std::size_t openStride_ = sizeof(TimerTaskList);
    BucketRing* above_ = nullptr;
    std::int64_t granularity_;
};
static_assert(sizeof(BucketRing) == 64);

}  // namespace timingwheel::inline v1::detail
