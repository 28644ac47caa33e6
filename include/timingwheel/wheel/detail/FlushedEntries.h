#pragma once

#include <timingwheel/detail/platform/LowestBit.h>
#include <timingwheel/wheel/TimerTaskList.h>

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// The entries of a flushed bucket, or of all buckets, until they are taken one by one.
///
/// A bucket that uses its lanes is emptied in turn from the front of each list. With each entry the
/// one after the next is prefetched: it comes from memory while the other lists have their turn.
/// Nothing but that hint depends on the next entries, so any of them may be removed meanwhile. A
/// bucket that uses no lane is emptied in its order.
///
/// Complexity     everything O(1), but placeAll, which is O(atMost)
/// Thread safety  none: belongs to its wheel
class FlushedEntries {
public:
    FlushedEntries() noexcept = default;
    FlushedEntries(FlushedEntries const&) = delete;
    FlushedEntries& operator=(FlushedEntries const&) = delete;

    bool empty() const noexcept {
        return TimerTaskList::isEmpty(from_->list(0)) && (used_ <= 1 || from_->empty());
    }

    /// Shows the entries of a bucket to which nothing is added meanwhile. They stay there until
    /// they are taken. REQUIRES: empty.
    void takeFrom(TimerTaskList& bucket) noexcept {
        assert(empty());
        taken_ = 0;
        used_ = bucket.used();
        from_ = &bucket;
    }
    /// Takes all entries of a bucket out of it. REQUIRES: empty.
    void takeAll(TimerTaskList& bucket) noexcept {
        forgetBucket();
        taken_ = 0;
        used_ = 0;
        addAll(bucket);
    }

    /// Takes all entries of a bucket, too.
    void addAll(TimerTaskList& bucket) noexcept { used_ |= own_.takeAll(bucket); }

    /// The next entry, which the caller takes out of its list; null if there is none.
    TimerTaskEntry* next() noexcept {
        if (used_ > 1) return nextInTurn();
        Node* const first = endOf(0)->next_;
        return first == endOf(0) ? nullptr : &show(first);
    }
    /// The next entry, taken out. REQUIRES: not empty.
    TimerTaskEntry& takeNext() noexcept {
        TimerTaskEntry* const entry = next();
        assert(entry != nullptr);
        TimerTaskList::remove(*entry);
        return *entry;
    }

    /// Calls `place(entry, list)` with up to `atMost` entries, from each list in turn, and takes
    /// them off that. For true, it has linked the entry into a list elsewhere. Otherwise the entry
    /// stays, before those that are still to come. So none is bridged by itself.
    template <class Place>
    void placeAll(std::size_t& atMost, Place&& place) noexcept {
        std::size_t placed = 0;
        if (used_ <= 1) {
            Walk walk{endOf(0), 0};
            for (; atMost > 0 && !walk.isAtEnd(); --atMost) placed += walk.step(place) ? 1U : 0U;
            walk.close();
            taken_ += placed;
            return;
        }
        Walk walks[TimerTaskList::kLists];
        unsigned count = 0;
        for (unsigned rest = used_; rest != 0; rest &= rest - 1) {
            unsigned const number = lowestBit(rest);
            walks[count] = Walk{endOf(number), number};
            if (walks[count].isAtEnd()) continue;
            TimerTaskList::prefetch(walks[count++].next);
        }
        for (unsigned i = 0; count > 0 && atMost > 0; i = i + 1 < count ? i + 1 : 0) {
            --atMost;
            placed += walks[i].step(place) ? 1U : 0U;
            if (!walks[i].isAtEnd()) continue;
            walks[i].close();
            walks[i] = walks[--count];
        }
        while (count > 0) walks[--count].close();
        taken_ += placed;
    }

    /// How many entries of the last bucket have been taken so far, or shown as the next one: each
    /// time counts.
    std::size_t taken() const noexcept { return taken_; }

    /// Where those lie that have not been taken: in a bucket that is shown, or in this object.
    TimerTaskList const& list() const noexcept { return *from_; }
    TimerTaskList& list() noexcept { return *from_; }
    /// Shows that bucket no more. REQUIRES: empty.
    void forgetBucket() noexcept {
        assert(empty());
        from_ = &own_;
    }

private:
    using Node = TimerTaskList::Node;

    Node* endOf(unsigned list) noexcept { return from_->list(list).end().pointed_node(); }
    /// A walk through a list from which most are taken.
    struct Walk {
        Walk() noexcept = default;
        Walk(Node* head, unsigned number) noexcept
            : end{head}, last{head}, next{head->next_}, list{number} {}

        bool isAtEnd() const noexcept { return next == end; }
        template <class Place>
        bool step(Place& place) noexcept {
            Node* const node = next;
            next = node->next_;
            TimerTaskList::prefetch(next->next_);  // the next one came a turn ago
            if (place(*TimerTaskList::List::value_traits::to_value_ptr(node), list)) return true;
            last->next_ = node;
            node->prev_ = last;
            last = node;
            return false;
        }
        /// Leaves a list of what stays, and of what was not visited.
        void close() const noexcept {
            last->next_ = next;
            next->prev_ = last;
        }

        Node* end;
        Node* last;  // of those that stay
        Node* next;
        unsigned list;
    };

    TimerTaskEntry& show(Node* node) noexcept {
        ++taken_;
        return *TimerTaskList::List::value_traits::to_value_ptr(node);
    }
    TimerTaskEntry* nextInTurn() noexcept {
        while (used_ != 0) {
            // The next list in a circle.
            auto const turned =
                std::rotr(static_cast<std::uint16_t>(used_), static_cast<int>(turn_));
            unsigned const i = (turn_ + lowestBit(turned)) % 16;
            turn_ = i + 1;
            Node* const first = endOf(i)->next_;
            // A branch: to go on without one would wait for this entry's memory.
            if (first != endOf(i)) {
                TimerTaskList::prefetch(first->next_->next_);  // the next one came a turn ago
                return &show(first);
            }
            used_ &= ~(1U << i);
        }
        return nullptr;
    }

    LanedTaskList own_;
    TimerTaskList* from_ = &own_;
    std::size_t taken_ = 0;
    unsigned used_ = 0;  // lists that may hold entries
    unsigned turn_ = 0;
};

}  // namespace timingwheel::inline v1::detail
