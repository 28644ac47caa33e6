#include <timingwheel/wheel/DelayHeap.h>

#include <boost/heap/d_ary_heap.hpp>

#include <cassert>

namespace timingwheel {
inline namespace v1 {

namespace {

// Boost.Heap keeps the largest on top: the earliest has to be the largest.
struct Later {
    bool operator()(DelayHeap::Item const& a, DelayHeap::Item const& b) const noexcept {
        if (a.expiration != b.expiration) return a.expiration > b.expiration;
        return a.bucket->level() > b.bucket->level();
    }
};

}  // namespace

struct DelayHeap::Heap {
    boost::heap::d_ary_heap<Item, boost::heap::arity<4>, boost::heap::compare<Later>> items;
    std::size_t reserved = 0;
};

DelayHeap::DelayHeap() : heap_{std::make_unique<Heap>()} {}
DelayHeap::~DelayHeap() = default;

void DelayHeap::reserve(std::size_t buckets) {
    heap_->items.reserve(buckets);
    heap_->reserved = buckets;
}

void DelayHeap::push(TimerTaskList& bucket) noexcept {
    assert(heap_->items.size() < heap_->reserved);
    heap_->items.push(Item{bucket.expiration(), &bucket});
    top_ = heap_->items.top();
}

void DelayHeap::pop() noexcept {
    assert(!empty());
    heap_->items.pop();
    top_ = heap_->items.empty() ? kNone : heap_->items.top();
}

std::size_t DelayHeap::size() const noexcept { return heap_->items.size(); }

std::vector<DelayHeap::Item> DelayHeap::items() const {
    return {heap_->items.begin(), heap_->items.end()};
}

}  // namespace v1
}  // namespace timingwheel
