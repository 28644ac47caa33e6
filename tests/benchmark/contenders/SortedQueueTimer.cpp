#include "ConditionVariableTimer.h"
#include "compare/Loads.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

namespace timingwheel::bench {
namespace {

/// A queue in the order of deadlines: the place is found by halves, and what lies behind it moves
/// up, so O(n), but quickly: pointers side by side.
class SortedQueue {
    struct Entry {
        SteadyTime deadline;
        std::function<void()> task;
    };
    struct Before {
        bool operator()(Entry const* entry, SteadyTime deadline) const {
            return entry->deadline < deadline;
        }
        bool operator()(SteadyTime deadline, Entry const* entry) const {
            return deadline < entry->deadline;
        }
    };

public:
    using Token = Entry*;
    static constexpr bool kFillInOrder = true;

    SortedQueue() = default;
    SortedQueue(SortedQueue const&) = delete;
    SortedQueue& operator=(SortedQueue const&) = delete;
    ~SortedQueue() {
        for (Entry const* entry : entries_) delete entry;
    }

    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    SteadyTime earliest() const { return entries_.front()->deadline; }

    Token insert(SteadyTime deadline, std::function<void()> task) {
        auto const place = std::upper_bound(entries_.begin(), entries_.end(), deadline, Before{});
        return *entries_.insert(place, new Entry{deadline, std::move(task)});
    }

    void erase(Token token) {
        auto place = std::lower_bound(entries_.begin(), entries_.end(), token->deadline, Before{});
        while (*place != token) ++place;  // others with the very same deadline
        entries_.erase(place);
        delete token;
    }

    std::function<void()> takeEarliest() {
        Entry* const first = entries_.front();
        entries_.pop_front();
        auto task = std::move(first->task);
        delete first;
        return task;
    }

private:
    std::deque<Entry*> entries_;
};

Registration const registration{
    {
        .id = "SortedQueue",
        .title = "sorted queue",
        .usage =
            "a sorted `std::deque` of pointers to deadline and `std::function`, a mutex, a "
            "condition variable, a thread; filled in order before it is measured, because random "
            "insertion of a million takes minutes",
        .largest = 1'000'000,
    },
    timerLoads<ConditionVariableTimer<SortedQueue>>()};

}  // namespace
}  // namespace timingwheel::bench
