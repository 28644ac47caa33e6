#pragma once

#include <timingwheel/wheel/TimerTaskList.h>

#include <bit>
#include <cassert>
#include <cstddef>
#include <functional>
#include <iterator>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// The entries of a flushed bucket, or of all buckets, until they are taken one by one.
///
/// A bucket that uses its lanes is emptied in turn from the front of each list. With each entry one
/// behind it is prefetched: it comes from memory while those of the other lists are placed.
/// Nothing but that hint depends on the next entries, so any of them may be removed meanwhile. A
/// bucket that uses no lane is emptied in its order.
///
/// Complexity     everything O(1)
/// Thread safety  none: belongs to its wheel
class FlushedEntries {
public:
    FlushedEntries() noexcept = default;
    FlushedEntries(FlushedEntries const&) = delete;
    FlushedEntries& operator=(FlushedEntries const&) = delete;

    bool empty() const noexcept {
        return TimerTaskList::isEmpty(from_->list(0)) && (used_ <= 1 || areLanesEmpty());
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
    void addAll(TimerTaskList& bucket) noexcept {
        unsigned const used = bucket.used();
        used_ |= used;
        own_.takeAll(bucket, used);
    }
    void addAll(FlushedEntries& other) noexcept { addAll(*other.from_); }

    /// The next entry, which the caller takes out of its list. REQUIRES: not empty.
    TimerTaskEntry& next() noexcept {
        assert(!empty());
        ++taken_;
        return used_ <= 1 ? from_->list(0).front() : nextInTurn();
    }
    /// The next entry, taken out. REQUIRES: not empty.
    TimerTaskEntry& takeNext() noexcept {
        TimerTaskEntry& entry = next();
        TimerTaskList::remove(entry);
        return entry;
    }

    /// Calls `visit` with each entry until that returns false, from each list in turn. The entry of
    /// that call stays next; the others are out of these lists, and `visit` has linked them into
    /// others. So none is bridged by itself.
    template <class Visit>
    void drainWhile(Visit&& visit) noexcept {
        if (used_ <= 1) {
            Node* const end = endOf(0);
            Node* node = end->next_;
            std::size_t taken = 0;
            for (; node != end && step(node, visit); ++taken) continue;
            taken_ += taken;
            end->next_ = node;
            node->prev_ = end;
            return;
        }
        struct Cursor {
            Node* end;
            Node* next;
        };
        Cursor cursors[TimerTaskList::kLists];
        unsigned left = 0;
        for (unsigned rest = used_; rest != 0; rest &= rest - 1) {
            Node* const end = endOf(static_cast<unsigned>(std::countr_zero(rest)));
            if (end->next_ == end) continue;
            cursors[left++] = {end, end->next_};
            prefetch(end->next_);
        }
        for (unsigned i = 0; left > 0; i = i + 1 < left ? i + 1 : 0) {
            Cursor& cursor = cursors[i];
            if (!step(cursor.next, visit)) break;
            ++taken_;
            if (cursor.next != cursor.end) continue;
            cursor.end->next_ = cursor.end->prev_ = cursor.end;
            cursor = cursors[--left];
        }
        for (unsigned i = 0; i < left; ++i) {
            cursors[i].end->next_ = cursors[i].next;
            cursors[i].next->prev_ = cursors[i].end;
        }
    }

    /// How many entries of the last bucket have been taken so far, or shown as the next one: each
    /// time counts.
    std::size_t taken() const noexcept { return taken_; }

    /// Those that have not been taken, for inspection.
    TimerTaskList const& list() const noexcept { return *from_; }
    TimerTaskList& list() noexcept { return *from_; }
    /// True for a bucket whose entries are shown where they are.
    bool isFrom(TimerTaskList const& bucket) const noexcept { return from_ == &bucket; }
    /// True for what lies in the lists of this object.
    bool holds(void const* address) const noexcept {
        return std::greater_equal<>{}(address, &own_) && std::less<>{}(address, &own_ + 1);
    }
    /// Shows that bucket no more. REQUIRES: empty.
    void forgetBucket() noexcept {
        assert(empty());
        from_ = &own_;
    }

private:
    using Node = TimerTaskList::Node;

    Node* endOf(unsigned list) noexcept { return from_->list(list).end().pointed_node(); }
    /// Visits an entry and goes on to the next.
    template <class Visit>
    static bool step(Node*& node, Visit& visit) noexcept {
        Node* const next = node->next_;
        prefetch(next);
        if (!visit(*TimerTaskList::List::value_traits::to_value_ptr(node))) return false;
        node = next;
        return true;
    }
    bool areLanesEmpty() const noexcept {
        for (unsigned left = used_ & ~1U; left != 0; left &= left - 1)
            if (!TimerTaskList::isEmpty(from_->list(static_cast<unsigned>(std::countr_zero(left)))))
                return false;
        return true;
    }
    TimerTaskEntry& nextInTurn() noexcept {
        for (;;) {
            unsigned const left = used_ >> turn_ << turn_;
            auto const i = static_cast<unsigned>(std::countr_zero(left != 0 ? left : used_));
            turn_ = i + 1;
            TimerTaskList::List& list = from_->list(i);
            if (!TimerTaskList::isEmpty(list)) {
                // The next one came a turn ago.
                TimerTaskList::prefetch(std::next(list.begin(), 2));
                return list.front();
            }
            used_ &= ~(1U << i);
        }
    }

    LanedTaskList own_;
    TimerTaskList* from_ = &own_;
    std::size_t taken_ = 0;
    unsigned used_ = 0;  // lists that may hold entries
    unsigned turn_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
