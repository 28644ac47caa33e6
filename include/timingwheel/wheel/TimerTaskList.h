#pragma once

#include <timingwheel/detail/platform/CacheLine.h>
#include <timingwheel/detail/platform/Prefetch.h>
#include <timingwheel/wheel/TimerTaskEntry.h>

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace timingwheel {
inline namespace v1 {

/// A bucket: the entries of one slot of one level, and when it expires.
///
/// Circular, doubly linked Boost.Intrusive lists around sentinels: adding or removing an entry is
/// four writes and no branch. `expiration()` is the *start* of the slot's range: it is the same for
/// all entries of the bucket and does not grow with them. A bucket has an expiration exactly while
/// it is armed, that is, while it is in the delay heap.
///
/// There are several lists, the *lanes*, because emptying a long one is slow: the next entry's
/// address is known only once this one has come from memory, so each entry is a cache miss of its
/// own. A crowded bucket's entries are spread over its lanes, which are emptied in turn and from
/// both ends (see FlushedEntries). Then as many misses are under way at a time as the lanes have
/// ends, and expiring a million takes a quarter of the time. If entries are added only to the first
/// lane, the bucket keeps their order.
///
/// Units          positions: ticks since the wheel's origin, never negative
/// Complexity     everything O(1), except what `entries()` shows
/// Memory         one cache line, aligned to it: adding to any lane touches no other of the bucket
/// Thread safety  none: belongs to its wheel
///
/// Source: `TimerTaskList` of Apache Kafka (there with a lock and a counter of its own).
class alignas(detail::kCacheLine) TimerTaskList {
public:
    using List =
        boost::intrusive::list<TimerTaskEntry, boost::intrusive::base_hook<detail::TimerTaskLinks>,
                               boost::intrusive::constant_time_size<false>>;

    static constexpr std::int64_t kUnarmed = -1;
    /// As many as fit a cache line beside the rest.
    static constexpr unsigned kLanes = 3;

    /// The lane of an entry in a crowded bucket. Multiplying by 2^64 / the golden ratio spreads
    /// addresses evenly, whatever their distance.
    static unsigned laneOf(TimerTaskEntry const& entry) noexcept {
        std::uint64_t const address = reinterpret_cast<std::uintptr_t>(&entry);
        std::uint64_t const spread = address * 0x9E37'79B9'7F4A'7C15U >> 32U;
        return static_cast<unsigned>(spread * kLanes >> 32U);
    }

    /// Says which bucket this is: once, when its level is built.
    void standAt(std::uint32_t level, std::uint32_t slot) noexcept {
        level_ = level;
        slot_ = slot;
    }

    bool empty() const noexcept {
        for (List const& lane : lanes_)
            if (!lane.empty()) return false;
        return true;
    }
    /// True if a lane other than the first holds entries.
    bool usesLanes() const noexcept {
        for (unsigned i = 1; i < kLanes; ++i)
            if (!lanes_[i].empty()) return true;
        return false;
    }
    void add(TimerTaskEntry& entry, unsigned lane = 0) noexcept { lanes_[lane].push_back(entry); }

    /// Takes an entry out of whatever list holds it.
    static void remove(TimerTaskEntry& entry) noexcept {
        using Node = List::node_algorithms;
        auto* const node = List::value_traits::to_node_ptr(entry);
        Node::unlink(node);
        Node::init(node);
    }

    /// Fetches what remove() will write beside the entry itself.
    static void prefetchNeighbours(TimerTaskEntry const& entry) noexcept {
        auto const* const node = List::value_traits::to_node_ptr(entry);
        prefetchToWrite(List::node_traits::get_previous(node));
        prefetchToWrite(List::node_traits::get_next(node));
    }

    /// The first entry, taken out. REQUIRES: not empty.
    TimerTaskEntry& takeFirst() noexcept {
        List* lane = lanes_;
        while (lane->empty()) ++lane;
        return takeFront(*lane);
    }

    /// The last entry, taken out. REQUIRES: not empty.
    TimerTaskEntry& takeLast() noexcept {
        List* lane = lanes_ + kLanes - 1;
        while (lane->empty()) --lane;
        return takeBack(*lane);
    }

    /// Moves all entries of `other` behind the entries of this bucket, lane by lane and in their
    /// order: O(1).
    void takeAll(TimerTaskList& other) noexcept {
        for (unsigned i = 0; i < kLanes; ++i)
            if (!other.lanes_[i].empty()) lanes_[i].splice(lanes_[i].end(), other.lanes_[i]);
    }

    /// Prefetches the entries that are taken first: those at the ends of all lanes, or only the
    /// first one if the bucket uses one lane.
    void prefetchEnds() const noexcept {
        if (!usesLanes()) return prefetch(lanes_[0].begin());
        for (List const& lane : lanes_) {
            prefetch(lane.begin());
            prefetch(std::prev(lane.end()));
        }
    }

    /// Stamps the bucket, which then must enter the delay heap: once per turn of the wheel, however
    /// many entries go in.
    void arm(std::int64_t expiration) noexcept { expiration_ = expiration; }
    std::int64_t expiration() const noexcept { return expiration_; }
    bool isArmed() const noexcept { return expiration_ != kUnarmed; }
    void disarm() noexcept { expiration_ = kUnarmed; }

    std::uint32_t level() const noexcept { return level_; }
    std::uint32_t slot() const noexcept { return slot_; }

    class Entries;
    /// The entries, lane by lane and in the order of each, for inspection.
    Entries entries() const noexcept;
    List const& lane(unsigned number) const noexcept { return lanes_[number]; }

private:
    friend class FlushedEntries;

    static TimerTaskEntry& takeFront(List& lane) noexcept {
        TimerTaskEntry& first = lane.front();
        lane.pop_front();
        return first;
    }
    static TimerTaskEntry& takeBack(List& lane) noexcept {
        TimerTaskEntry& last = lane.back();
        lane.pop_back();
        return last;
    }

    /// The links, and the word behind them: they may lie on two cache lines.
    static void prefetch(List::const_iterator entry) noexcept {
        detail::prefetch(entry.pointed_node());
        detail::prefetch(entry.pointed_node() + 1);
    }

    List lanes_[kLanes];
    std::int64_t expiration_ = kUnarmed;
    std::uint32_t level_ = 0;
    std::uint32_t slot_ = 0;
};

static_assert(sizeof(TimerTaskList) == detail::kCacheLine);

/// The entries of a bucket as one range.
class TimerTaskList::Entries {
public:
    class Iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = TimerTaskEntry;
        using difference_type = std::ptrdiff_t;
        using pointer = TimerTaskEntry const*;
        using reference = TimerTaskEntry const&;

        Iterator() noexcept = default;
        Iterator(TimerTaskList const& bucket, unsigned lane) noexcept
            : bucket_{&bucket}, lane_{lane}, entry_{bucket.lanes_[lane].begin()} {
            skipEnds();
        }
        /// The end.
        explicit Iterator(TimerTaskList const& bucket) noexcept
            : bucket_{&bucket}, lane_{kLanes - 1}, entry_{bucket.lanes_[kLanes - 1].end()} {}

        reference operator*() const noexcept { return *entry_; }
        pointer operator->() const noexcept { return &*entry_; }
        Iterator& operator++() noexcept {
            ++entry_;
            skipEnds();
            return *this;
        }
        Iterator operator++(int) noexcept {
            Iterator const before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(Iterator const& a, Iterator const& b) noexcept {
            return a.entry_ == b.entry_;
        }

    private:
        // The end of the range is the end of the last lane.
        void skipEnds() noexcept {
            while (entry_ == bucket_->lanes_[lane_].end() && lane_ + 1 < kLanes)
                entry_ = bucket_->lanes_[++lane_].begin();
        }

        TimerTaskList const* bucket_ = nullptr;
        unsigned lane_ = 0;
        List::const_iterator entry_;
    };

    explicit Entries(TimerTaskList const& bucket) noexcept : bucket_{&bucket} {}

    Iterator begin() const noexcept { return {*bucket_, 0}; }
    Iterator end() const noexcept { return Iterator{*bucket_}; }
    bool empty() const noexcept { return bucket_->empty(); }
    std::size_t size() const noexcept {
        return static_cast<std::size_t>(std::distance(begin(), end()));
    }
    /// REQUIRES: not empty.
    TimerTaskEntry const& front() const noexcept { return *begin(); }
    TimerTaskEntry const& back() const noexcept {
        List const* lane = bucket_->lanes_ + kLanes - 1;
        while (lane->empty()) --lane;
        return lane->back();
    }

private:
    TimerTaskList const* bucket_;
};

inline TimerTaskList::Entries TimerTaskList::entries() const noexcept { return Entries{*this}; }

}  // namespace v1
}  // namespace timingwheel
