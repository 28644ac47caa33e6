#pragma once

#include <timingwheel/detail/platform/export.h>
#include <timingwheel/wheel/SlotSet.h>
#include <timingwheel/wheel/TimerTaskList.h>

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
/// set of slots, and a Boost.Heap orders only the earliest bucket of each level. The finest level,
/// where most buckets come and go, stands beside that heap: its earliest is compared with the
/// heap's top. (Boost.Heap is hidden here because its header is large.)
///
/// The heap changes when an empty bucket gets its first entry and when a bucket expires, not once
/// per timeout. A bucket whose entries were all cancelled stays until it comes to the top. Of two
/// buckets with the same expiration the one on the lower level comes first.
///
/// Complexity     top O(1) and inline, push and pop O(log levels + log64 slots)
/// Memory         only `addLevel` allocates
/// Thread safety  none
class TIMINGWHEEL_API DelayHeap {
public:
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

    /// REQUIRES: the bucket belongs to a level that was added, and is not in the heap; it and the
    /// armed ones of its level expire within one turn.
    void push(TimerTaskList& bucket) noexcept;
    /// REQUIRES: not empty.
    void pop() noexcept;

    bool empty() const noexcept { return top_.bucket == nullptr; }
    /// The earliest bucket. If there is none, an item without a bucket that never expires.
    Item const& top() const noexcept { return top_; }
    std::size_t size() const noexcept { return size_; }

    /// Calls `visit(item)` for each item, by level and expiration. It may empty the bucket, but not
    /// disarm it.
    template <class Visit>
    void forEach(Visit&& visit) const {
        for (Level const& level : levels_) {
            if (level.earliest.bucket == nullptr) continue;
            Item item = level.earliest;
            visit(item);
            // Not round to the first again: no time says when that expires a turn later.
            while (level.armed.nextAfter(item.bucket->slot()) != level.earliest.bucket->slot()) {
                item = level.after(item);
                visit(item);
            }
        }
    }
    /// All items, by level and expiration: for inspection and tests.
    std::vector<Item> items() const;

private:
    struct CoarserLevels;
    struct Level {
        /// The bucket that expires next after `item`. REQUIRES: a bucket is armed; `item` need not
        /// be one any more.
        Item after(Item const& item) const noexcept;

        SlotSet armed;
        Item earliest;
        std::int64_t granularity;
        TimerTaskList* buckets;
        std::uint32_t size;
    };

    static constexpr std::int64_t kNever = INT64_MAX;
    static constexpr Item kNone{kNever, nullptr};

    void setEarliest(std::uint32_t level, Item item) noexcept;

    Item top_ = kNone;
    Item coarserTop_ = kNone;
    std::size_t size_ = 0;
    std::vector<Level> levels_;
    std::unique_ptr<CoarserLevels> coarser_;
};

}  // namespace v1
}  // namespace timingwheel
