#pragma once

#include <timingwheel/detail/platform/export.h>
#include <timingwheel/wheel/TimerTaskList.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace timingwheel {
inline namespace v1 {

/// The armed buckets of a wheel, earliest expiration first.
///
/// A Boost.Heap d-ary heap with the keys beside the bucket pointers, so that a comparison touches
/// no bucket unless two are equal; hidden here because its header is large. It is touched when an
/// empty bucket gets its first entry and when a bucket expires, not once per timeout. A bucket
/// whose entries were all cancelled stays in it until it comes to the top. Of two buckets with the
/// same expiration the one on the lower level comes first.
///
/// Complexity     top O(1) and inline, push and pop O(log of the armed buckets)
/// Memory         only `reserve` allocates; the wheel calls it when it builds a level
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

    void reserve(std::size_t buckets);
    /// REQUIRES: room was reserved; the bucket is not in the heap.
    void push(TimerTaskList& bucket) noexcept;
    /// REQUIRES: not empty.
    void pop() noexcept;

    bool empty() const noexcept { return top_.bucket == nullptr; }
    /// The earliest bucket; one without a bucket, and never expiring, when there is none.
    Item const& top() const noexcept { return top_; }
    std::size_t size() const noexcept;

    /// All items, in no order: for looking at, and for tests.
    std::vector<Item> items() const;

private:
    struct Heap;

    static constexpr Item kNone{INT64_MAX, nullptr};

    Item top_ = kNone;
    std::unique_ptr<Heap> heap_;
};

}  // namespace v1
}  // namespace timingwheel
