#pragma once

#include "core/driver/book/ShardBook.h"
#include "core/driver/book/TaskBook.h"
#include "core/timeout/TimeoutNode.h"
#include "core/timeout/TimeoutWord.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace timingwheel::test {

inline constexpr detail::HookOperations kHook{{true}, nullptr};
inline constexpr detail::HookOperations kHookThatIsTold{{true}, nullptr, [](void*) {}};

/// A book that no shard has, and the entries in it, which no keeper keeps.
class LoneBook {
public:
    explicit LoneBook(std::int64_t wheelSize = 20) : book{tasks, {.wheelSize = wheelSize}} {}

    detail::HookEntry& hook(detail::HookOperations const& operations = kHook) {
        return hooks_.emplace_back(operations, nullptr);
    }
    detail::TimeoutNode& node(detail::Periodicity const* periodicity = nullptr) {
        auto task = [] {};
        nodes_.emplace_back(detail::TimeoutNode::create(
            {&detail::kTaskOperations<decltype(task)>, &task}, periodicity));
        return *nodes_.back();
    }
    detail::TimeoutNode& periodic(detail::Periodicity::Rule rule, Tick scheduled = Tick{0}) {
        detail::Periodicity const periodicity{.rule = rule, .scheduled = scheduled};
        return node(&periodicity);
    }

    /// A new hook that the book has taken in.
    detail::HookEntry& accepted(std::int64_t deadline) {
        detail::HookEntry& entry = hook();
        book.accept(entry, Tick{deadline});
        return entry;
    }
    std::vector<detail::TimeoutEntry*> acceptedAt(std::vector<std::int64_t> const& deadlines) {
        std::vector<detail::TimeoutEntry*> entries;
        for (std::int64_t const deadline : deadlines) entries.push_back(&accepted(deadline));
        return entries;
    }
    void cancel(detail::TimeoutEntry& entry) { book.cancel(entry, detail::TimeoutWord::of(entry)); }
    Tick move(detail::TimeoutEntry& entry, std::int64_t deadline) {
        return book.move(entry, detail::TimeoutWord::of(entry), Tick{deadline});
    }
    /// Hands what is due to an executor.
    void dispatch(detail::TimeoutEntry& due) {
        detail::TimeoutWord{due.deadline(), detail::TimeoutState::queued}.storeIn(due);
        tasks.queue.push(due);
    }
    /// What is due by `limit`, in one turn; it is not counted any more.
    std::vector<detail::TimeoutEntry*> turn(std::int64_t limit, std::size_t atMost = SIZE_MAX) {
        std::vector<detail::TimeoutEntry*> due;
        detail::ShardBook::Turn turn = book.begin(Tick{limit});
        while (due.size() < atMost) {
            detail::TimeoutEntry* const entry = book.next(turn);
            if (entry == nullptr) break;
            --tasks.pending;
            due.push_back(entry);
        }
        moved = turn.moved;
        return due;
    }

private:
    struct DropBoth {
        void operator()(detail::TimeoutNode* node) const noexcept {
            if (!node->release()) node->release();
        }
    };
    std::deque<detail::HookEntry> hooks_;
    std::vector<std::unique_ptr<detail::TimeoutNode, DropBoth>> nodes_;

public:
    // After the entries: its lists let go of them first.
    detail::TaskBook tasks{detail::EventLog{}};
    detail::ShardBook book;
    std::size_t moved = 0;  ///< in the last turn
};

inline detail::TimeoutState stateOf(detail::TimeoutEntry const& entry) {
    return detail::TimeoutWord::of(entry).state();
}

}  // namespace timingwheel::test
