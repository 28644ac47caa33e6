#pragma once

#include <timingwheel/detail/platform/LowestBit.h>
#include <timingwheel/detail/platform/NoInline.h>
#include <timingwheel/detail/platform/Prefetch.h>
#include <timingwheel/wheel/TimerTaskEntry.h>

#include <boost/intrusive/list.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace timingwheel::inline v1 {

namespace detail {
class FlushedEntries;
}

/// A bucket: the entries of one slot of one level, and when it expires.
///
/// Circular, doubly linked Boost.Intrusive lists around sentinels: adding or removing an entry
/// takes no branch. `expiration()` is the *start* of the slot's range: it is the same for all
/// entries of the bucket and does not grow with them. A bucket has an expiration exactly while it
/// is armed, that is, while it is in the delay heap.
///
/// A crowded bucket has further lists, the *lanes*, because emptying a long one is slow: the next
/// entry's address is known only once this one has come from memory, so each entry is a cache miss
/// of its own. Entries are spread over the lanes, which are emptied in turn (see FlushedEntries).
/// Then many misses are under way at a time, and expiring a million takes less than a third of the
/// time. The lanes stand apart from the bucket, in memory that nothing touches before a wheel is
/// crowded. A bucket that uses no lane keeps the order of its entries.
///
/// Units          ticks
/// Complexity     everything O(1), except forEach and size
/// Memory         32 bytes, and 128 of `Lanes`
/// Thread safety  none: belongs to its wheel
///
/// Source: `TimerTaskList` of Apache Kafka (there with a lock and a counter of its own).
class alignas(32) TimerTaskList {
public:
    using List =
        boost::intrusive::list<TimerTaskEntry, boost::intrusive::base_hook<detail::TimerTaskLinks>,
                               boost::intrusive::constant_time_size<false>>;

    using Node = List::node_traits::node;

    static constexpr std::int64_t kUnarmed = INT64_MIN;
    /// The list that a bucket always has, and its lanes.
    static constexpr unsigned kLists = 1 + 8;

    /// The further lists of a bucket.
    struct Lanes {
        List lists[kLists - 1];
    };

    /// Spreads addresses, however far apart they are, evenly over all numbers of 32 bits: by 2^32 /
    /// the golden ratio.
    static std::uint32_t spread(TimerTaskEntry const& entry) noexcept {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&entry)) * 0x9E37'79B1U;
    }

    TimerTaskList() noexcept = default;
    ~TimerTaskList() { dropLanes(); }
    TimerTaskList(TimerTaskList const&) = delete;
    TimerTaskList& operator=(TimerTaskList const&) = delete;

    /// Says which bucket this is: once, when its level is built.
    void standAt(std::uint32_t level, std::uint32_t slot) noexcept {
        level_ = level & 0x3FU;
        slot_ = slot & 0x3FF'FFFFU;
    }
    /// Makes lanes in memory that lies behind the bucket and is its own: REQUIRES: less than 4 GiB
    /// away, and as long as the bucket lives.
    void makeLanes(void* memory) noexcept {
        assert(!hasLanes());
        lanesAt_ = static_cast<std::uint32_t>(static_cast<std::byte*>(memory) -
                                              reinterpret_cast<std::byte*>(this));
        std::construct_at(lanes());
    }
    /// Lets go of the lanes and what they hold.
    void dropLanes() noexcept {
        if (hasLanes()) std::destroy_at(lanes());
        lanesAt_ = 0;
    }
    bool hasLanes() const noexcept { return lanesAt_ != 0; }

    bool empty() const noexcept { return isEmpty(first_) && !usesLanes(); }
    /// One comparison; list.empty() has two, for lists that were never made.
    static bool isEmpty(List const& list) noexcept {
        Node const* const end = list.end().pointed_node();
        return end->next_ == end;
    }
    /// True if a lane holds entries.
    bool usesLanes() const noexcept { return used() > 1; }

    /// The first list, or lane 1, 2, ... REQUIRES: number = 0, or it has lanes and number < kLists.
    List& list(unsigned number) noexcept {
        return number == 0 ? first_ : lanes()->lists[number - 1];
    }
    List const& list(unsigned number) const noexcept {
        return number == 0 ? first_ : lanes()->lists[number - 1];
    }
    /// How many lists it has.
    unsigned lists() const noexcept { return hasLanes() ? kLists : 1; }

    /// Adds an entry behind those of the first list.
    void add(TimerTaskEntry& entry) noexcept { add(entry, first_); }
    /// Adds an entry behind those of a list. Returns true if it is alone there.
    static bool add(TimerTaskEntry& entry, List& list) noexcept {
        Node* const end = list.end().pointed_node();
        Node const* const last = end->prev_;
        List::node_algorithms::link_before(end, List::value_traits::to_node_ptr(entry));
        return last == end;
    }

    /// Takes an entry out of whatever list holds it.
    static void remove(TimerTaskEntry& entry) noexcept {
        bridge(entry);
        List::node_algorithms::init(List::value_traits::to_node_ptr(entry));
    }
    /// The same, for an entry that is added to another list at once: isQueued() stays true.
    static void bridge(TimerTaskEntry& entry) noexcept {
        List::node_algorithms::unlink(List::value_traits::to_node_ptr(entry));
    }

    /// Fetches what remove() will write beside the entry itself.
    static void prefetchNeighbours(TimerTaskEntry const& entry) noexcept {
        Node const* const node = List::value_traits::to_node_ptr(entry);
        detail::prefetchToWrite(node->prev_);
        detail::prefetchToWrite(node->next_);
    }

    /// The first entry, taken out. REQUIRES: not empty.
    TimerTaskEntry& takeFirst() noexcept {
        unsigned number = 0;
        while (isEmpty(list(number))) ++number;
        TimerTaskEntry& first = list(number).front();
        remove(first);
        return first;
    }

    /// Which lists hold entries: a bit for each.
    unsigned used() const noexcept {
        unsigned const first = isEmpty(first_) ? 0U : 1U;
        return hasLanes() ? first | usedLanes() : first;
    }
    /// Moves the entries of `other` behind the entries of this bucket, list by list and in their
    /// order, and returns which lists held any: O(1). REQUIRES: it has lanes if `other` uses some.
    TIMINGWHEEL_NO_INLINE unsigned takeAll(TimerTaskList& other) noexcept {
        unsigned const used = other.used();
        for (unsigned left = used; left != 0; left &= left - 1) {
            unsigned const i = detail::lowestBit(left);
            list(i).splice(list(i).end(), other.list(i));
        }
        return used;
    }

    /// Prefetches the first entry of each list.
    void prefetchFirst() const noexcept {
        for (unsigned i = 0; i < lists(); ++i) prefetch(list(i).begin().pointed_node());
    }

    /// Stamps the bucket, which then must enter the delay heap: once per turn of the wheel, however
    /// many entries go in.
    void arm(std::int64_t expiration) noexcept { expiration_ = expiration; }
    std::int64_t expiration() const noexcept { return expiration_; }
    bool isArmed() const noexcept { return expiration_ != kUnarmed; }
    void disarm() noexcept { expiration_ = kUnarmed; }

    std::uint32_t level() const noexcept { return level_; }
    std::uint32_t slot() const noexcept { return slot_; }

    /// Calls `visit(entry)` for each, list by list and in the order of each.
    template <class Visit>
    void forEach(Visit&& visit) const {
        for (unsigned i = 0; i < lists(); ++i)
            for (TimerTaskEntry const& entry : list(i)) visit(entry);
    }
    /// How many entries it holds. O(entries).
    std::size_t size() const noexcept {
        std::size_t size = 0;
        for (unsigned i = 0; i < lists(); ++i) size += list(i).size();
        return size;
    }

private:
    friend class detail::FlushedEntries;

    TIMINGWHEEL_NO_INLINE unsigned usedLanes() const noexcept {
        unsigned used = 0;
        for (unsigned i = 1; i < kLists; ++i)
            if (!isEmpty(list(i))) used |= 1U << i;
        return used;
    }

    /// The links, and the word behind them: they may lie on two cache lines.
    static void prefetch(Node const* entry) noexcept {
        detail::prefetch(entry);
        detail::prefetch(entry + 1);
    }

    Lanes* lanes() const noexcept {
        auto const self = reinterpret_cast<std::byte*>(const_cast<TimerTaskList*>(this));
        return std::launder(reinterpret_cast<Lanes*>(self + lanesAt_));
    }

    List first_;
    std::int64_t expiration_ = kUnarmed;
    std::uint32_t slot_ : 26 = 0;
    std::uint32_t level_ : 6 = 0;
    std::uint32_t lanesAt_ = 0;  // in bytes behind the bucket; 0 if it has none
};

static_assert(sizeof(TimerTaskList) == 32 || sizeof(void*) != 8);

namespace detail {

/// A bucket with lanes of its own.
class LanedTaskList : public TimerTaskList {
public:
    LanedTaskList() noexcept { makeLanes(memory_); }
    ~LanedTaskList() { dropLanes(); }

private:
    alignas(Lanes) std::byte memory_[sizeof(Lanes)];
};

}  // namespace detail

}  // namespace timingwheel::inline v1
