#pragma once

#include <timingwheel/detail/platform/export.h>
#include <timingwheel/wheel/TimerTaskList.h>
#include <timingwheel/wheel/detail/SlotSet.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace timingwheel::inline v1 {

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

    /// Adds the next coarser level. Its slots are `granularity` wide, those of the finest 1. Strong
    /// exception safety.
    void addLevel(std::span<TimerTaskList> buckets, std::int64_t granularity);
    /// Removes the level `first` and all coarser ones. REQUIRES: their buckets are not in the heap.
    void removeLevelsFrom(std::size_t first) noexcept;

    /// Returns true if the bucket is now the earliest. REQUIRES: it belongs to a level that was
    /// added, and is not in the heap; it and the armed ones of its level expire within one turn.
    bool push(TimerTaskList& bucket) noexcept;
    /// The same for buckets of the finest level, which may be in the heap already: for a cascade,
    /// where that is chance. First each slot, then the earliest of them.
    void pushFinest(std::uint32_t slot) noexcept { levels_.front().armed.add(slot); }
    void noteFinest(std::uint32_t slot, std::int64_t expiration) noexcept {
        noteEarliest(levels_.front(), slot, expiration);
    }
    /// The earliest bucket, taken out. REQUIRES: not empty.
    TimerTaskList& pop() noexcept {
        assert(!empty());
        // Most buckets: without a call.
        Level& finest = levels_.front();
        if (finest.earliest != earliest_ || !finest.armed.isNextInWord(finest.slot))
            return popAny();
        TimerTaskList& bucket = goOn(finest, finest.armed.removeInWord(finest.slot), 1);
        earliest_ = (std::min)(finest.earliest, coarserEarliest_);
        return bucket;
    }

    bool empty() const noexcept { return earliest_ == kNever; }
    /// When the earliest bucket expires; kNever if there is none.
    std::int64_t earliest() const noexcept { return earliest_; }
    /// The earliest bucket. If there is none, an item without a bucket that never expires.
    Item top() const noexcept;
    /// How many buckets are armed: for inspection and tests. O(slots / 64).
    std::size_t size() const noexcept;

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
                auto const ahead = static_cast<std::int64_t>(level.slotsAhead(next, slot));
                item = {item.expiration + ahead * level.granularity, level.buckets + next};
                visit(item);
                slot = next;
            }
        }
    }

private:
    struct CoarserLevels;
    struct Level {
        /// How many slots `next` lies ahead of `from` in the ring; 0 if it is the same. If it is a
        /// smaller number, the difference wraps: so the smaller of two replaces a branch.
        std::uint64_t slotsAhead(std::uint32_t next, std::uint32_t from) const noexcept {
            std::uint32_t const ahead = next - from;
            return (std::min)(ahead, ahead + size);
        }

        detail::SlotSet armed;
        std::int64_t earliest;
        std::uint32_t slot;  // of the earliest
        std::uint32_t size;
        std::int64_t granularity;
        TimerTaskList* buckets;
    };

    /// Whether a bucket is the earliest, of its level or of all, is chance: nothing branches by it.
    /// To some compilers ?: is a branch.
    void noteEarliest(Level& level, std::uint32_t slot, std::int64_t expiration) noexcept {
        bool const isFirst = expiration < level.earliest;
        level.slot ^= (level.slot ^ slot) & -std::uint32_t{isFirst};
        level.earliest = (std::min)(level.earliest, expiration);
        earliest_ = (std::min)(earliest_, expiration);
    }
    /// Goes on to the slot that comes after the earliest one, which was taken out; the same slot if
    /// there is none. The armed buckets expire within one turn, so the next one expires as many
    /// slots later as it lies ahead in the ring.
    static TimerTaskList& goOn(Level& level, std::uint32_t next,
                               std::int64_t granularity) noexcept {
        std::uint32_t const slot = level.slot;
        level.slot = next;
        std::uint64_t const ahead = level.slotsAhead(next, slot);
        // kNever at least without a next one, else INT64_MIN: arithmetic, as chance decides, too.
        std::uint64_t const isLast = (ahead - 1) >> 63U;
        auto const atLeast =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(kNever) + 1 - isLast);
        level.earliest =
            (std::max)(level.earliest + static_cast<std::int64_t>(ahead) * granularity, atLeast);
        return level.buckets[slot];
    }
    TimerTaskList& popAny() noexcept;
    std::size_t topLevel() const noexcept;
    void noteCoarser(std::size_t level) noexcept;

    std::int64_t earliest_ = kNever;
    std::int64_t coarserEarliest_ = kNever;  // above the finest level
    std::int64_t heapEarliest_ = kNever;     // above the two finest levels
    std::vector<Level> levels_;
    std::unique_ptr<CoarserLevels> coarser_;
};

}  // namespace timingwheel::inline v1
