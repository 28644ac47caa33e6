#pragma once

#include <timingwheel/detail/platform/export.h>
#include <timingwheel/wheel/TimerTaskList.h>
#include <timingwheel/wheel/detail/SlotSet.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace timingwheel {
inline namespace v1 {

/// The armed buckets of a wheel, earliest expiration first.
///
/// The buckets of one level expire in the order of their slots. So a level's armed buckets are a
/// set of slots and the expiration of the earliest, a number. A Boost.Heap orders these numbers.
/// The two finest levels, where most buckets come and go, stand beside it: the heap changes with a
/// bucket of a coarser level, and only if that is the earliest of its level. (Boost.Heap is hidden
/// here because its header is large.)
///
/// A bucket comes in with its first entry and goes out when it expires, not once per timeout. A
/// bucket whose entries were all cancelled stays until it comes to the top. Of two buckets with the
/// same expiration the one on the lower level comes first.
///
/// Complexity     earliest O(1) and inline; push and pop O(log levels + log64 slots)
/// Memory         only `addLevel` allocates
/// Thread safety  none
class TIMINGWHEEL_API DelayHeap {
public:
    static constexpr std::int64_t kNever = INT64_MAX;
    struct Item {
        std::int64_t expiration;
        TimerTaskList* bucket;
    };

    DelayHeap();
    ~DelayHeap();
    DelayHeap(DelayHeap const&) = delete;
    DelayHeap& operator=(DelayHeap const&) = delete;

    /// Adds the next coarser level. Its slots are `granularity` wide. Strong exception safety.
    void addLevel(std::span<TimerTaskList> buckets, std::int64_t granularity);
    /// Removes the level `first` and all coarser ones. REQUIRES: their buckets are not in the heap.
    void removeLevelsFrom(std::size_t first) noexcept;

    /// Returns true if the bucket is now the earliest. REQUIRES: it belongs to a level that was
    /// added, and is not in the heap; it and the armed ones of its level expire within one turn.
    bool push(TimerTaskList& bucket) noexcept;
    /// The earliest bucket, taken out. REQUIRES: not empty.
    TimerTaskList& pop() noexcept;

    bool empty() const noexcept { return earliest_ == kNever; }
    /// When the earliest bucket expires; kNever if there is none.
    std::int64_t earliest() const noexcept { return earliest_; }
    /// The earliest bucket. If there is none, an item without a bucket that never expires.
    Item top() const noexcept;
    std::size_t size() const noexcept { return size_; }

    /// Calls `visit(item)` for each item, by level and expiration. It may empty the bucket, but not
    /// disarm it.
    template <class Visit>
    void forEach(Visit&& visit) const {
        for (Level const& level : levels_) {
            if (level.earliest == kNever) continue;
            Item item{level.earliest, level.buckets + level.slot};
            visit(item);
            // Stop before the first again: its expiration a turn later may not be a time.
            for (std::uint32_t slot = level.slot;;) {
                std::uint32_t const next = level.armed.nextAfter(slot);
                if (next == level.slot) break;
                item = {item.expiration + level.distance(slot, next), level.buckets + next};
                visit(item);
                slot = next;
            }
        }
    }
    /// All items, by level and expiration: for inspection and tests.
    std::vector<Item> items() const;

private:
    struct CoarserLevels;
    struct Level {
        /// How many ticks after a slot the next one expires.
        std::int64_t distance(std::uint32_t from, std::uint32_t next) const noexcept {
            std::uint32_t const ahead = next > from ? next - from : next + size - from;
            return ahead * granularity;
        }

        detail::SlotSet armed;
        std::int64_t earliest;
        std::uint32_t slot;  // of the earliest
        std::uint32_t size;
        std::int64_t granularity;
        TimerTaskList* buckets;
    };

    std::size_t topLevel() const noexcept;
    void noteEarliest(std::size_t level) noexcept;
    void noteCoarser(std::size_t level) noexcept;

    std::int64_t earliest_ = kNever;
    std::int64_t coarserEarliest_ = kNever;  // above the finest level
    std::int64_t heapEarliest_ = kNever;     // above the two finest levels
    std::size_t size_ = 0;
    std::vector<Level> levels_;
    std::unique_ptr<CoarserLevels> coarser_;
};

}  // namespace v1
}  // namespace timingwheel
