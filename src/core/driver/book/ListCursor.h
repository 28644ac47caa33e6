#pragma once

#include <timingwheel/wheel/TimerTaskList.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace timingwheel::inline v1::detail {

/// A walk along lists whose order must not change, in several holds of the lock. Before an entry
/// is taken out of such a list by itself, passOver() must be called. A list may be moved behind
/// one that comes later in the walk.
///
/// Thread safety  none: guarded by the keeper's lock
class ListCursor {
public:
    using Lists = std::span<TimerTaskList const* const>;

    /// Begins anew, or ends.
    void reset() noexcept { *this = {}; }

    /// Visits what lies ahead, at most `left` entries, and counts them off. Returns true at the
    /// end. REQUIRES: always the same lists.
    template <class Visit>
    bool goOn(Lists lists, std::size_t& left, Visit&& visit) noexcept {
        for (; list_ < lists.size(); ++list_, next_ = nullptr) {
            if (next_ == nullptr) next_ = endOf(*lists[list_])->next_;
            while (!isEnd(lists)) {
                if (left == 0) return false;
                --left;
                TimerTaskEntry& entry = *TimerTaskList::List::value_traits::to_value_ptr(next_);
                next_ = next_->next_;
                visit(entry);
            }
        }
        return true;
    }

    void passOver(TimerTaskEntry const& entry) noexcept {
        if (next_ == TimerTaskList::List::value_traits::to_node_ptr(entry)) next_ = next_->next_;
    }

private:
    using Node = TimerTaskList::Node;

    static Node const* endOf(TimerTaskList const& list) noexcept {
        return list.list(0).end().pointed_node();
    }
    bool isEnd(Lists lists) const noexcept {
        return std::ranges::any_of(
            lists, [this](TimerTaskList const* list) { return next_ == endOf(*list); });
    }

    std::size_t list_ = 0;
    Node* next_ = nullptr;  // the next entry, or the end of a list; null before a list
};

}  // namespace timingwheel::inline v1::detail
