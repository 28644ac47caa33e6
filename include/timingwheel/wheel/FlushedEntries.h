#pragma once

#include <timingwheel/wheel/TimerTaskList.h>

#include <cassert>
#include <cstddef>
#include <iterator>

namespace timingwheel {
inline namespace v1 {

/// The entries of a flushed bucket, or of all buckets, until they are taken one by one.
///
/// A bucket that uses its lanes is emptied in turn from the front and the back of each. When an
/// entry is taken, the one that is now at that end is prefetched: it comes from memory while those
/// at the other ends are placed. Nothing but that hint depends on the next entries, so any of them
/// may be removed meanwhile. A bucket that uses one lane is emptied in its order.
///
/// Complexity     everything O(1)
/// Thread safety  none: belongs to its wheel
class FlushedEntries {
public:
    bool empty() const noexcept {
        return bucket_.lanes_[0].empty() && (!usesLanes_ || bucket_.empty());
    }

    /// Takes all entries of a bucket. REQUIRES: empty.
    void takeAll(TimerTaskList& bucket) noexcept {
        assert(empty());
        taken_ = 0;
        usesLanes_ = bucket.usesLanes();
        if (usesLanes_) return bucket_.takeAll(bucket);
        TimerTaskList::List& lane = bucket_.lanes_[0];
        if (!bucket.lanes_[0].empty()) lane.splice(lane.end(), bucket.lanes_[0]);
    }

    /// Takes all entries of a bucket, too.
    void addAll(TimerTaskList& bucket) noexcept {
        usesLanes_ = usesLanes_ || bucket.usesLanes();
        bucket_.takeAll(bucket);
    }
    void addAll(FlushedEntries& other) noexcept { addAll(other.bucket_); }

    /// The next entry, taken out. REQUIRES: not empty.
    TimerTaskEntry& takeNext() noexcept {
        assert(!empty());
        ++taken_;
        return usesLanes_ ? takeInTurn() : TimerTaskList::takeFront(bucket_.lanes_[0]);
    }

    /// How many entries of the last bucket have been taken so far.
    std::size_t taken() const noexcept { return taken_; }

    /// Those that have not been taken, for inspection.
    TimerTaskList::Entries entries() const noexcept { return bucket_.entries(); }

private:
    static constexpr unsigned kEnds = 2 * TimerTaskList::kLanes;

    TimerTaskEntry& takeInTurn() noexcept {
        TimerTaskList::List* lane = nullptr;
        do {
            end_ = end_ + 1 == kEnds ? 0 : end_ + 1;
            lane = &bucket_.lanes_[end_ / 2];
        } while (lane->empty());

        if (end_ % 2 == 0) {
            TimerTaskEntry& first = TimerTaskList::takeFront(*lane);
            TimerTaskList::prefetch(lane->begin());
            return first;
        }
        TimerTaskEntry& last = TimerTaskList::takeBack(*lane);
        TimerTaskList::prefetch(std::prev(lane->end()));
        return last;
    }

    TimerTaskList bucket_;
    std::size_t taken_ = 0;
    unsigned end_ = 0;
    bool usesLanes_ = false;
};

}  // namespace v1
}  // namespace timingwheel
