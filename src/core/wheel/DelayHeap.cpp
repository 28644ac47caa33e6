#include <timingwheel/detail/platform/NoInline.h>
#include <timingwheel/wheel/DelayHeap.h>

#include <boost/heap/d_ary_heap.hpp>

#include <algorithm>
#include <cassert>

namespace timingwheel::inline v1 {

/// An item for each level above the two finest, whether one of its buckets is armed or not.
struct DelayHeap::CoarserLevels {
    static constexpr std::size_t kFirst = 2;

    /// When a level's first bucket expires.
    struct Earliest {
        std::int64_t expiration;
        std::uint32_t level;
    };
    // Boost.Heap keeps the largest on top, so the earliest has to be the largest.
    struct Later {
        bool operator()(Earliest const& a, Earliest const& b) const noexcept {
            if (a.expiration != b.expiration) return a.expiration > b.expiration;
            return a.level > b.level;
        }
    };
    using Heap = boost::heap::d_ary_heap<Earliest, boost::heap::arity<4>,
                                         boost::heap::mutable_<true>, boost::heap::compare<Later>>;
    Heap heap;
    std::vector<Heap::handle_type> items;  // by level - kFirst
};

DelayHeap::DelayHeap() : coarser_{std::make_unique<CoarserLevels>()} {}
DelayHeap::~DelayHeap() = default;

void DelayHeap::addLevel(std::span<TimerTaskList> buckets, std::int64_t granularity) {
    auto const number = static_cast<std::uint32_t>(levels_.size());
    auto const size = static_cast<std::uint32_t>(buckets.size());
    assert(number > 0 || granularity == 1);
    // Reserve first, so that nothing throws once the heap has the level.
    coarser_->items.reserve(number);
    coarser_->heap.reserve(number);
    levels_.push_back({detail::SlotSet{size}, kNever, 0, size, granularity, buckets.data()});
    if (number < CoarserLevels::kFirst) return;
    try {
        coarser_->items.push_back(coarser_->heap.push({kNever, number}));
    } catch (...) {
        levels_.pop_back();
        throw;
    }
}

void DelayHeap::removeLevelsFrom(std::size_t first) noexcept {
    for (; levels_.size() > first; levels_.pop_back()) {
        assert(levels_.back().armed.empty());
        if (levels_.size() <= CoarserLevels::kFirst) continue;
        coarser_->heap.erase(coarser_->items.back());
        coarser_->items.pop_back();
    }
}

bool DelayHeap::push(TimerTaskList& bucket) noexcept {
    bool const isEarliest = bucket.expiration() < earliest_;
    Level& level = levels_[bucket.level()];
    assert(!level.armed.contains(bucket.slot()));
    level.armed.add(bucket.slot());
    noteEarliest(level, bucket.slot(), bucket.expiration());
    if (bucket.level() > 0) noteCoarser(bucket.level());
    return isEarliest;
}

TIMINGWHEEL_NO_INLINE TimerTaskList& DelayHeap::popAny() noexcept {
    std::size_t const number = topLevel();
    Level& level = levels_[number];
    std::uint32_t const next = level.armed.nextAfter(level.slot);
    level.armed.remove(level.slot);
    TimerTaskList& bucket = goOn(level, next, level.granularity);
    if (number > 0) noteCoarser(number);
    earliest_ = std::min(levels_.front().earliest, coarserEarliest_);
    return bucket;
}

std::size_t DelayHeap::topLevel() const noexcept {
    if (levels_[0].earliest == earliest_) return 0;
    if (levels_[1].earliest == earliest_) return 1;
    return coarser_->heap.top().level;
}

/// The earliest bucket of a level above the finest may be another one now. Apart, as it would save
/// registers for all of them.
TIMINGWHEEL_NO_INLINE void DelayHeap::noteCoarser(std::size_t level) noexcept {
    if (level >= CoarserLevels::kFirst) {
        auto const item = coarser_->items[level - CoarserLevels::kFirst];
        (*item).expiration = levels_[level].earliest;
        coarser_->heap.update(item);
        heapEarliest_ = coarser_->heap.top().expiration;
    }
    coarserEarliest_ = std::min(levels_[1].earliest, heapEarliest_);
}

DelayHeap::Item DelayHeap::top() const noexcept {
    if (empty()) return {kNever, nullptr};
    Level const& level = levels_[topLevel()];
    return {level.earliest, level.buckets + level.slot};
}

std::size_t DelayHeap::size() const noexcept {
    std::size_t size = 0;
    for (Level const& level : levels_) size += level.armed.size();
    return size;
}

}  // namespace timingwheel::inline v1
