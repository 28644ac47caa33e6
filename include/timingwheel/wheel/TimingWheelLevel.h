#pragma once

#include <timingwheel/detail/platform/CacheLine.h>
#include <timingwheel/detail/platform/WideProduct.h>
#include <timingwheel/wheel/TimerTaskList.h>
#include <timingwheel/wheel/detail/Divisor.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace timingwheel {
inline namespace v1 {

/// One level of a wheel: a ring of buckets, each `granularity()` ticks wide.
///
/// A deadline d belongs in the slot (d / granularity) mod size, whose bucket expires at the start
/// of the slot's range. The slot that the clock is in never receives anything: the level below
/// covers its range.
///
/// Units          ticks
/// Thread safety  none: belongs to its wheel
class alignas(detail::kCacheLine) TimingWheelLevel {
public:
    /// The most slots of a level with lanes: making them takes time in proportion.
    static constexpr std::uint32_t kMostWithLanes = 65'536;

    /// Slots are counted from `origin`. `wheelClock` lives as long as the level. Strong exception
    /// safety.
    TimingWheelLevel(std::uint32_t number, std::uint32_t size, std::int64_t granularity,
                     std::int64_t interval, std::int64_t origin, std::int64_t const& wheelClock)
        : reciprocal_{reciprocalOf(granularity, interval)},
          size_{size},
          granularity_{granularity},
          interval_{interval},
          byGranularity_{static_cast<std::uint64_t>(granularity)},
          bySize_{size},
          number_{number},
          wheelClock_{&wheelClock},
          memory_{new Cell[cellsOf(size)], Release{size}} {
        buckets_ = bucketsIn(memory_.get());
        for (std::uint32_t slot = 0; slot < size; ++slot)
            std::construct_at(buckets_ + slot)->standAt(number, slot);
        restart(origin);
    }

    /// Sets the clock to the wheel's, whatever that is. REQUIRES: no bucket is armed.
    void restart(std::int64_t origin) noexcept {
        turn_ = origin;
        jumpTo(*wheelClock_);
    }

    /// Counted from 0, the finest.
    std::uint32_t number() const noexcept { return number_; }
    std::uint64_t size() const noexcept { return size_; }
    /// Width of a slot.
    std::int64_t granularity() const noexcept { return granularity_; }
    /// Range of the whole level: its granularity times its size, at most LevelGeometry::kWidest.
    std::int64_t interval() const noexcept { return interval_; }
    /// This level's clock: the wheel's, rounded down to the granularity.
    std::int64_t clock() const noexcept { return number_ == 0 ? *wheelClock_ : limit_ - interval_; }
    /// The first tick at which the clock is in slot 0 again.
    std::int64_t nextTurn() const noexcept { return turn_ + interval_; }
    /// The first tick that this level cannot hold.
    std::int64_t limit() const noexcept { return clock() + interval_; }
    /// The same, for a level above the finest.
    std::int64_t coarserLimit() const noexcept { return limit_; }

    std::span<TimerTaskList> buckets() noexcept {
        return {buckets_, static_cast<std::size_t>(size_)};
    }
    std::span<TimerTaskList const> buckets() const noexcept {
        return {buckets_, static_cast<std::size_t>(size_)};
    }
    TimerTaskList& bucket(std::uint64_t slot) noexcept { return buckets_[slot]; }
    /// True for what lies in its buckets and their lanes.
    bool holds(void const* address) const noexcept {
        return std::greater_equal<>{}(address, memory_.get()) &&
               std::less<>{}(address, memory_.get() + cellsOf(size_));
    }

    /// The lanes of all buckets, by slot; null while entries go to the first list of their bucket.
    TimerTaskList::Lanes* lanes() const noexcept { return lanes_; }
    /// From now on entries go to the lanes, or not. The first time this takes O(size).
    void useLanes(bool use) noexcept {
        lanes_ = nullptr;
        if (!use || size_ > kMostWithLanes) return;
        Cell* const memory = memory_.get() + size_;
        for (std::uint32_t slot = 0; slot < size_ && !buckets_[size_ - 1].hasLanes(); ++slot)
            buckets_[slot].makeLanes(memory + slot * kCellsOfLanes);
        lanes_ = reinterpret_cast<TimerTaskList::Lanes*>(memory);
    }

    /// Moves the clock of a level above the finest to `tick`, rounded down. Returns false if it is
    /// there already. REQUIRES: clock() <= tick.
    bool moveClock(std::int64_t tick) noexcept {
        std::int64_t const next = limit_ - interval_ + granularity_;
        if (tick < next) return false;
        // Nearly always to the next slot, of the same turn.
        if (tick < next + granularity_ && next < nextTurn())
            limit_ += granularity_;
        else
            jumpTo(tick);
        return true;
    }
    /// The same for the finest level, whose clock is the wheel's. REQUIRES: nextTurn() <= tick.
    void moveTurn(std::int64_t tick) noexcept {
        turn_ += interval_;
        if (tick >= nextTurn()) jumpTo(tick);
    }

    /// How many ticks, or slots, a tick lies behind the turn's slot 0.
    std::uint64_t ticksTo(std::int64_t tick) const noexcept {
        assert(tick >= turn_);
        return static_cast<std::uint64_t>(tick - turn_);
    }
    std::uint64_t slotsTo(std::int64_t tick) const noexcept {
        return byGranularity_.divide(ticksTo(tick));
    }
    /// The same, cheaper. REQUIRES: isNear(), tick < limit().
    std::uint64_t nearSlotsTo(std::int64_t tick) const noexcept {
        assert(isNear() && tick < limit_);
        return detail::upperHalfOfProduct(ticksTo(tick), reciprocal_);
    }
    /// False for the finest level, where a slot is a tick, and for a level of weeks and more, with
    /// ticks of a millisecond.
    bool isNear() const noexcept { return reciprocal_ != 0; }
    /// Which slot lies `passed` slots behind that. As it is less than two turns, the smaller of two
    /// unsigned numbers replaces the modulo: in the first turn the difference wraps.
    std::uint64_t slotAfter(std::uint64_t passed) const noexcept {
        return (std::min)(passed, passed - size_);
    }
    /// Where that slot starts.
    std::int64_t startAfter(std::uint64_t passed) const noexcept {
        return turn_ + static_cast<std::int64_t>(passed) * granularity_;
    }

private:
    /// Room for a bucket, or for a part of its lanes. All buckets come first, then all lanes, which
    /// nothing touches before useLanes().
    struct alignas(TimerTaskList) Cell {
        std::byte bytes[sizeof(TimerTaskList)];
    };
    static constexpr std::size_t kCellsOfLanes =
        (sizeof(TimerTaskList::Lanes) + sizeof(Cell) - 1) / sizeof(Cell);
    static_assert(sizeof(TimerTaskList::Lanes) == kCellsOfLanes * sizeof(Cell));

    struct Release {
        std::uint32_t buckets;
        void operator()(Cell* memory) const noexcept {
            std::destroy_n(bucketsIn(memory), buckets);
            delete[] memory;
        }
    };

    static std::size_t cellsOf(std::uint64_t size) noexcept {
        return size * (size > kMostWithLanes ? 1 : 1 + kCellsOfLanes);
    }
    static TimerTaskList* bucketsIn(Cell* memory) noexcept {
        return reinterpret_cast<TimerTaskList*>(memory);
    }

    /// n / granularity is the upper half of n * reciprocal for every n below two intervals. With
    /// m = 2^64 / granularity, rounded up, n * m / 2^64 is too large by less than
    /// n * granularity / 2^64 of a part 1 / granularity (Granlund and Montgomery 1994, theorem
    /// 4.2); for a power of two by nothing. 0 where that is not enough.
    static std::uint64_t reciprocalOf(std::int64_t granularity, std::int64_t interval) noexcept {
        auto const divisor = static_cast<std::uint64_t>(granularity);
        bool const isExact = std::has_single_bit(divisor) ||
                             static_cast<std::uint64_t>(interval) <= (UINT64_MAX >> 1U) / divisor;
        return granularity > 1 && isExact ? UINT64_MAX / divisor + 1 : 0;
    }

    /// To any tick that is not before the turn.
    void jumpTo(std::int64_t tick) noexcept {
        std::uint64_t passed = byGranularity_.divide(ticksTo(tick));
        std::uint64_t const turns = bySize_.divide(passed);
        turn_ += static_cast<std::int64_t>(turns) * interval_;
        passed -= turns * size_;
        limit_ = turn_ + static_cast<std::int64_t>(passed) * granularity_ + interval_;
    }

    // All that placing an entry reads comes first, on one cache line.
    std::int64_t limit_ = 0;  // the clock, and the interval; not kept in the finest level
    std::int64_t turn_ = 0;   // where the clock's turn began, in slot 0
    std::uint64_t reciprocal_;
    TimerTaskList* buckets_ = nullptr;
    TimerTaskList::Lanes* lanes_ = nullptr;
    std::uint64_t size_;
    std::int64_t granularity_;
    std::int64_t interval_;
    detail::Divisor byGranularity_;
    detail::Divisor bySize_;
    std::uint32_t number_;
    std::int64_t const* wheelClock_;
    std::unique_ptr<Cell[], Release> memory_;
};

}  // namespace v1
}  // namespace timingwheel
