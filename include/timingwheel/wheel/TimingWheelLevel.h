#pragma once

#include <timingwheel/detail/platform/NoInline.h>
#include <timingwheel/wheel/TimerTaskList.h>
#include <timingwheel/wheel/detail/BucketRing.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>

namespace timingwheel::inline v1 {

/// One level of a wheel: a ring of buckets, each `granularity()` ticks wide.
///
/// A deadline d belongs in the slot (d / granularity) mod size, whose bucket expires at the start
/// of the slot's range. The slot that the clock is in never receives anything: the level below
/// covers its range.
///
/// Units          ticks
/// Thread safety  none: belongs to its wheel
class TimingWheelLevel {
public:
    /// The most slots of a level with lanes: making them takes time in proportion.
    static constexpr std::uint32_t kMostWithLanes = 65'536;

    /// Slots are counted from `origin`. `wheelClock` lives as long as the level. Strong exception
    /// safety.
    TimingWheelLevel(std::uint32_t number, std::uint32_t size, std::int64_t granularity,
                     std::int64_t interval, std::int64_t origin, std::int64_t const& wheelClock)
        : number_{number},
          interval_{interval},
          wheelClock_{&wheelClock},
          ring_{new(::operator new(bytesOf(size), kAlignment))
                    detail::BucketRing{size, granularity, interval}} {
        for (std::uint32_t slot = 0; slot < size; ++slot)
            std::construct_at(&bucket(slot))->standAt(number, slot);
        restart(origin);
    }

    /// Sets the clock to the wheel's, whatever that is. REQUIRES: no bucket is armed.
    void restart(std::int64_t origin) noexcept {
        std::int64_t const passed = (*wheelClock_ - origin) / granularity();
        std::int64_t const end = isFinest() ? passed / interval_ * interval_ + 2 * interval_
                                            : passed + interval_ / granularity();
        ring().setLast(origin + end * granularity() - 1,
                       static_cast<std::uint32_t>((end - 1) % size()));
    }

    /// Counted from 0, the finest.
    std::uint32_t number() const noexcept { return number_; }
    std::uint32_t size() const noexcept { return ring().size(); }
    /// Width of a slot.
    std::int64_t granularity() const noexcept { return ring().granularity(); }
    /// Range of the whole level: its granularity times its size, unless LevelGeometry caps that.
    std::int64_t interval() const noexcept { return interval_; }
    /// This level's clock: the wheel's, rounded down to the granularity.
    std::int64_t clock() const noexcept {
        return isFinest() ? *wheelClock_ : ring().last() + 1 - interval_;
    }
    /// The first tick that this level cannot hold.
    std::int64_t limit() const noexcept {
        return isFinest() ? *wheelClock_ + interval_ : ring().last() + 1;
    }
    /// The first tick at which the clock is in slot 0 again. REQUIRES: this is the finest level.
    std::int64_t nextTurn() const noexcept {
        assert(isFinest());
        return ring().last() + 1 - interval_;
    }

    std::span<TimerTaskList> buckets() noexcept { return {ring().buckets(), size()}; }
    std::span<TimerTaskList const> buckets() const noexcept { return {ring().buckets(), size()}; }
    TimerTaskList& bucket(std::uint64_t slot) noexcept { return ring().buckets()[slot]; }
    /// What places entries here.
    detail::BucketRing& ring() const noexcept { return *ring_; }
    /// True for what lies in its buckets and their lanes.
    bool holds(void const* address) const noexcept {
        auto const* const first = reinterpret_cast<std::byte const*>(ring_.get());
        return std::greater_equal<>{}(address, first) &&
               std::less<>{}(address, first + bytesOf(size()));
    }

    /// True if entries go to a lane of their bucket, false if to its first list.
    bool usesLanes() const noexcept { return ring().usesLanes(); }
    /// From now on entries go to the list of that number, as far as this level has lanes. The first
    /// time that it is a lane, this takes O(size).
    TIMINGWHEEL_NO_INLINE void open(unsigned list) noexcept {
        if (size() > kMostWithLanes) return;
        for (std::uint32_t slot = 0; list > 0 && !buckets().back().hasLanes(); ++slot)
            bucket(slot).makeLanes(ring().lanes() + slot);
        ring().open(list);
    }

    /// Moves the clock of a level above the finest to `tick`, rounded down. Returns false if it is
    /// there already. REQUIRES: clock() <= tick.
    bool moveClock(std::int64_t tick) noexcept {
        std::int64_t const passed = tick + interval_ - 1 - ring().last();
        if (passed < granularity()) return false;
        // Nearly always to the next slot.
        ring().moveLast(passed < 2 * granularity() ? 1 : passed / granularity());
        return true;
    }
    /// The same for the finest level, whose clock is the wheel's. REQUIRES: nextTurn() <= tick.
    void moveTurn(std::int64_t tick) noexcept {
        std::int64_t const passed = tick - nextTurn();
        ring().moveLast(passed < interval_ ? interval_ : (1 + passed / interval_) * interval_);
    }

private:
    static constexpr std::align_val_t kAlignment{alignof(detail::BucketRing)};
    static_assert(alignof(TimerTaskList::Lanes) <= alignof(TimerTaskList));

    /// The ring comes first, then all buckets, then all lanes, which nothing touches before open().
    static std::size_t bytesOf(std::size_t size) noexcept {
        return sizeof(detail::BucketRing) + size * sizeof(TimerTaskList) +
               (size > kMostWithLanes ? 0 : size * sizeof(TimerTaskList::Lanes));
    }
    struct Release {
        void operator()(detail::BucketRing* ring) const noexcept {
            std::destroy_n(ring->buckets(), ring->size());
            ::operator delete(ring, kAlignment);
        }
    };

    bool isFinest() const noexcept { return number_ == 0; }

    std::uint32_t number_;
    std::int64_t interval_;
    std::int64_t const* wheelClock_;
    std::unique_ptr<detail::BucketRing, Release> ring_;
};

}  // namespace timingwheel::inline v1
