#include <timingwheel/wheel/DelayHeap.h>

#include <boost/heap/d_ary_heap.hpp>

#include <cassert>

namespace timingwheel {
inline namespace v1 {

/// An item for each level except the finest, whether one of its buckets is armed or not.
struct DelayHeap::CoarserLevels {
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
    std::vector<Heap::handle_type> items;  // by level - 1
};

DelayHeap::DelayHeap() : coarser_{std::make_unique<CoarserLevels>()} {}
DelayHeap::~DelayHeap() = default;

void DelayHeap::addLevel(std::span<TimerTaskList> buckets, std::int64_t granularity) {
    auto const number = static_cast<std::uint32_t>(levels_.size());
    auto const size = static_cast<std::uint32_t>(buckets.size());
    // Reserve first, so that nothing throws once the heap has the level.
    coarser_->items.reserve(number);
    coarser_->heap.reserve(number);
    levels_.push_back({SlotSet{size}, kNone, granularity, buckets.data(), size});
    if (number == 0) return;
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
        if (levels_.size() == 1) continue;
        coarser_->heap.erase(coarser_->items.back());
        coarser_->items.pop_back();
    }
}

void DelayHeap::push(TimerTaskList& bucket) noexcept {
    Level& level = levels_[bucket.level()];
    assert(!level.armed.contains(bucket.slot()));
    level.armed.add(bucket.slot());
    ++size_;
    if (bucket.expiration() < level.earliest.expiration)
        setEarliest(bucket.level(), {bucket.expiration(), &bucket});
}

void DelayHeap::pop() noexcept {
    assert(!empty());
    Level& level = levels_[top_.bucket->level()];
    level.armed.remove(top_.bucket->slot());
    --size_;
    setEarliest(top_.bucket->level(), level.armed.empty() ? kNone : level.after(top_));
}

void DelayHeap::setEarliest(std::uint32_t level, Item item) noexcept {
    levels_[level].earliest = item;
    if (level > 0) {
        auto const ofLevel = coarser_->items[level - 1];
        (*ofLevel).expiration = item.expiration;
        coarser_->heap.update(ofLevel);
        std::uint32_t const first = coarser_->heap.top().level;
        coarserTop_ = first == level ? item : levels_[first].earliest;
    }
    // `item` is passed on, not read back: a load of 16 bytes right after two stores of 8 stalls.
    Item const finest = level == 0 ? item : levels_.front().earliest;
    top_ = finest.expiration <= coarserTop_.expiration ? finest : coarserTop_;
}

/// The armed buckets of a level expire within one turn. So the next one expires as many slots later
/// as it lies ahead in the ring.
DelayHeap::Item DelayHeap::Level::after(Item const& item) const noexcept {
    std::uint32_t const slot = item.bucket->slot();
    std::uint32_t const next = armed.nextAfter(slot);
    std::uint32_t const slots = next > slot ? next - slot : next + size - slot;
    return {item.expiration + slots * granularity, buckets + next};
}

std::vector<DelayHeap::Item> DelayHeap::items() const {
    std::vector<Item> items;
    items.reserve(size_);
    forEach([&](Item const& item) { items.push_back(item); });
    return items;
}

}  // namespace v1
}  // namespace timingwheel
