#pragma once

#include <timingwheel/wheel/TimerTaskEntry.h>

#include <boost/intrusive/list.hpp>

#include <cstdint>

namespace timingwheel {
inline namespace v1 {

/// A bucket: the entries of one slot of one level, and when it expires.
///
/// A circular, doubly linked Boost.Intrusive list around a sentinel, so that adding and removing an
/// entry are four writes and no branch. `expiration()` is the *start* of the slot's range: it is
/// the same for all entries of the bucket and does not grow with them. A bucket has an expiration
/// exactly while it is armed, that is, while it stands in the delay heap.
///
/// Units          positions: ticks since the wheel's origin, never negative
/// Complexity     everything O(1)
/// Thread safety  none: belongs to its wheel
///
/// Source: `TimerTaskList` of Apache Kafka (there with a lock and a counter of its own).
class TimerTaskList {
public:
    using List =
        boost::intrusive::list<TimerTaskEntry, boost::intrusive::base_hook<detail::TimerTaskLinks>,
                               boost::intrusive::constant_time_size<false>>;

    static constexpr std::int64_t kUnarmed = -1;

    /// Says which bucket this is: once, when its level is built.
    void standAt(std::uint32_t level, std::uint32_t slot) noexcept {
        level_ = level;
        slot_ = slot;
    }

    bool empty() const noexcept { return entries_.empty(); }
    void add(TimerTaskEntry& entry) noexcept { entries_.push_back(entry); }

    /// Takes an entry out of whatever list holds it.
    static void remove(TimerTaskEntry& entry) noexcept {
        using Node = List::node_algorithms;
        auto* const node = List::value_traits::to_node_ptr(entry);
        Node::unlink(node);
        Node::init(node);
    }

    /// The first entry, taken out. REQUIRES: not empty.
    TimerTaskEntry& takeFirst() noexcept {
        TimerTaskEntry& first = entries_.front();
        entries_.pop_front();
        return first;
    }

    /// The last entry, taken out. REQUIRES: not empty.
    TimerTaskEntry& takeLast() noexcept {
        TimerTaskEntry& last = entries_.back();
        entries_.pop_back();
        return last;
    }

    /// Moves all entries of `other`, in their order, behind the entries of this list: O(1).
    void takeAll(TimerTaskList& other) noexcept { entries_.splice(entries_.end(), other.entries_); }

    /// Stamps the bucket. Returns true if the stamp changed: the bucket then needs a place in the
    /// delay heap. It does so once per turn of the wheel, however many entries go in.
    bool setExpiration(std::int64_t position) noexcept {
        if (expiration_ == position) return false;
        expiration_ = position;
        return true;
    }
    std::int64_t expiration() const noexcept { return expiration_; }
    bool isArmed() const noexcept { return expiration_ != kUnarmed; }
    void disarm() noexcept { expiration_ = kUnarmed; }

    std::uint32_t level() const noexcept { return level_; }
    std::uint32_t slot() const noexcept { return slot_; }

    /// The entries in their order, for looking at.
    List const& entries() const noexcept { return entries_; }

private:
    List entries_;
    std::int64_t expiration_ = kUnarmed;
    std::uint32_t level_ = 0;
    std::uint32_t slot_ = 0;
};

}  // namespace v1
}  // namespace timingwheel
