#pragma once

#include <timingwheel/wheel/Divisor.h>
#include <timingwheel/wheel/TimerTaskList.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
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
/// Units          positions: ticks since the wheel's origin
/// Thread safety  none: belongs to its wheel
class TimingWheelLevel {
public:
    TimingWheelLevel(std::uint32_t number, std::uint32_t size, std::int64_t granularity,
                     std::int64_t interval, std::int64_t clock)
        : granularity_{granularity},
          byGranularity_{static_cast<std::uint64_t>(granularity)},
          buckets_{std::make_unique<TimerTaskList[]>(size)},
          size_{size},
          bySize_{size},
          interval_{interval},
          number_{number} {
        for (std::uint32_t slot = 0; slot < size; ++slot) buckets_[slot].standAt(number, slot);
        restart(clock);
    }

    /// Sets the clock to any position. REQUIRES: no bucket is armed.
    void restart(std::int64_t position) noexcept {
        turn_ = 0;
        limit_ = interval_;
        moveClock(position);
    }

    /// Counted from 0, the finest.
    std::uint32_t number() const noexcept { return number_; }
    /// Width of a slot, in ticks.
    std::int64_t granularity() const noexcept { return granularity_; }
    /// Range of the whole level, in ticks: its granularity times its size, at most
    /// LevelGeometry::kWidest.
    std::int64_t interval() const noexcept { return interval_; }
    /// This level's clock: the wheel's, rounded down to the granularity.
    std::int64_t clock() const noexcept { return limit_ - interval_; }
    /// The first position at which the clock moves.
    std::int64_t nextSlot() const noexcept { return clock() + granularity_; }
    /// The first position at which the clock is in slot 0 again.
    std::int64_t nextTurn() const noexcept { return turn_ + interval_; }
    /// The first position that this level cannot hold.
    std::int64_t limit() const noexcept { return limit_; }

    /// With this many entries in the wheel, or more, its buckets use all their lanes. By default
    /// never.
    std::size_t lanesFrom() const noexcept { return lanesFrom_; }
    void setLanesFrom(std::size_t entries) noexcept { lanesFrom_ = entries; }

    std::span<TimerTaskList> buckets() noexcept { return {buckets_.get(), size_}; }
    std::span<TimerTaskList const> buckets() const noexcept { return {buckets_.get(), size_}; }

    /// Rounds `position` down to this level's granularity and makes that the clock.
    /// REQUIRES: clock() <= position.
    void moveClock(std::int64_t position) noexcept {
        assert(position >= clock());
        std::uint64_t passed = slotsUpTo(position - turn_);
        std::uint64_t const turns = bySize_.divide(passed);
        turn_ += static_cast<std::int64_t>(turns) * interval_;
        passed -= turns * size_;
        limit_ = turn_ + static_cast<std::int64_t>(passed) * granularity_ + interval_;
    }
    /// The same within a turn of the finest level, whose clock moves at each step of the wheel's.
    /// REQUIRES: clock() <= position < nextTurn().
    void moveFinestClock(std::int64_t position) noexcept {
        assert(granularity_ == 1 && position >= clock() && position < nextTurn());
        limit_ = position + interval_;
    }

    std::int64_t startOfSlot(std::int64_t position) const noexcept {
        return static_cast<std::int64_t>(slotsUpTo(position)) * granularity_;
    }

    /// The bucket for `position`, and where that bucket starts.
    struct Slot {
        TimerTaskList& bucket;
        std::int64_t start;
    };
    /// REQUIRES: clock() <= position < limit().
    Slot slotOf(std::int64_t position) noexcept {
        assert(position >= clock() && position < limit_);
        // Less than two turns lie between the turn's slot 0 and this one, so a comparison replaces
        // the modulo.
        std::uint64_t const passed = slotsUpTo(position - turn_);
        std::uint64_t const slot = passed < size_ ? passed : passed - size_;
        return {buckets_[slot], turn_ + static_cast<std::int64_t>(passed) * granularity_};
    }

private:
    /// Kafka's virtual id of a slot.
    std::uint64_t slotsUpTo(std::int64_t position) const noexcept {
        return byGranularity_.divide(static_cast<std::uint64_t>(position));
    }

    // All that placing an entry reads comes first, on one cache line.
    std::int64_t limit_ = 0;  // the clock, and the interval
    std::int64_t turn_ = 0;   // where the clock's turn began, in slot 0
    std::int64_t granularity_;
    Divisor byGranularity_;
    std::unique_ptr<TimerTaskList[]> buckets_;
    std::uint32_t size_;
    std::size_t lanesFrom_ = SIZE_MAX;
    Divisor bySize_;
    std::int64_t interval_;
    std::uint32_t number_;
};

}  // namespace v1
}  // namespace timingwheel
