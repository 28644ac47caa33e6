#pragma once

#include <timingwheel/wheel/TimerTaskList.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace timingwheel {
inline namespace v1 {

/// One level of a wheel: a ring of buckets, each `granularity()` ticks wide.
///
/// A deadline d belongs into the slot (d / granularity) mod size, whose bucket expires at the start
/// of the slot's range. The slot that the clock stands in never receives anything: its range is
/// covered by the level below.
///
/// Units          positions: ticks since the wheel's origin
/// Thread safety  none: belongs to its wheel
class TimingWheelLevel {
public:
    TimingWheelLevel(std::uint32_t number, std::uint32_t size, std::int64_t granularity,
                     std::int64_t interval, std::int64_t clock)
        : granularity_{granularity},
          interval_{interval},
          buckets_{std::make_unique<TimerTaskList[]>(size)},
          size_{size},
          number_{number} {
        for (std::uint32_t slot = 0; slot < size; ++slot) buckets_[slot].standAt(number, slot);
        moveClock(clock);
    }

    /// Counted from 0, the finest.
    std::uint32_t number() const noexcept { return number_; }
    /// Width of a slot, in ticks.
    std::int64_t granularity() const noexcept { return granularity_; }
    /// Range of the whole level, in ticks: its granularity times its size, as far as that can be
    /// expressed.
    std::int64_t interval() const noexcept { return interval_; }
    /// This level's clock: the wheel's, rounded down to the granularity.
    std::int64_t clock() const noexcept { return clock_; }
    /// The first position that this level cannot hold.
    std::int64_t limit() const noexcept { return limit_; }

    std::span<TimerTaskList const> buckets() const noexcept { return {buckets_.get(), size_}; }

    /// Rounds `position` down to this level's granularity and makes that the clock.
    void moveClock(std::int64_t position) noexcept {
        clock_ = startOfSlot(position);
        limit_ = clock_ + interval_;
    }

    std::int64_t startOfSlot(std::int64_t position) const noexcept {
        return position - position % granularity_;
    }

    /// The bucket for `position`, and where that bucket starts.
    struct Slot {
        TimerTaskList& bucket;
        std::int64_t start;
    };
    Slot slotOf(std::int64_t position) noexcept {
        auto const slots = static_cast<std::uint64_t>(position) /
                           static_cast<std::uint64_t>(granularity_);  // Kafka's virtual id
        return {buckets_[slots % size_], static_cast<std::int64_t>(slots) * granularity_};
    }

private:
    std::int64_t limit_ = 0;
    std::int64_t granularity_;
    std::int64_t interval_;
    std::int64_t clock_ = 0;
    std::unique_ptr<TimerTaskList[]> buckets_;
    std::uint32_t size_;
    std::uint32_t number_;
};

}  // namespace v1
}  // namespace timingwheel
