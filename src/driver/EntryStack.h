#pragma once

#include <timingwheel/wheel/EntryLinks.h>
#include <timingwheel/wheel/TimerTaskEntry.h>

#include <atomic>
#include <utility>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// Which of an entry's two links a queue or stack runs through.
struct FirstLink {
    static TimerTaskEntry* next(TimerTaskEntry const& entry) noexcept {
        return EntryLinks::next(entry);
    }
    static void setNext(TimerTaskEntry& entry, TimerTaskEntry* other) noexcept {
        EntryLinks::setNext(entry, other);
    }
};
struct SecondLink {
    static TimerTaskEntry* next(TimerTaskEntry const& entry) noexcept {
        return EntryLinks::second(entry);
    }
    static void setNext(TimerTaskEntry& entry, TimerTaskEntry* other) noexcept {
        EntryLinks::setSecond(entry, other);
    }
};

/// Entries in the order of their arrival. For one thread.
template <class Link>
class EntryQueue {
public:
    EntryQueue() noexcept = default;
    EntryQueue(TimerTaskEntry* first, TimerTaskEntry* last) noexcept : first_{first}, last_{last} {}

    bool empty() const noexcept { return first_ == nullptr; }

    void append(EntryQueue other) noexcept {
        if (other.empty()) return;
        if (empty())
            first_ = other.first_;
        else
            Link::setNext(*last_, other.first_);
        last_ = other.last_;
    }
    /// REQUIRES: not empty.
    TimerTaskEntry& takeFirst() noexcept {
        TimerTaskEntry& taken = *first_;
        first_ = Link::next(taken);
        Link::setNext(taken, nullptr);
        return taken;
    }
    void putBack(TimerTaskEntry& entry) noexcept {
        if (empty()) last_ = &entry;
        Link::setNext(entry, first_);
        first_ = &entry;
    }

private:
    TimerTaskEntry* first_ = nullptr;
    TimerTaskEntry* last_ = nullptr;
};

/// A stack on which any thread pushes entries, and from which one thread takes them all. Callers
/// and a worker meet here without a lock. Starts closed.
template <class Link>
class EntryStack {
public:
    /// Puts `entry` on top. False if the stack is closed.
    bool push(TimerTaskEntry& entry) noexcept {
        TimerTaskEntry* top = top_.load(std::memory_order_relaxed);
        do {
            if (top == &closed_) return false;
            Link::setNext(entry, top);
        } while (!top_.compare_exchange_weak(top, &entry, std::memory_order_seq_cst));
        return true;
    }

    /// Takes all entries, oldest first. If a thread pushes an entry and then does not see a value
    /// that the caller stored (seq_cst) before this call, its entry is among those taken.
    EntryQueue<Link> takeAll() noexcept {
        TimerTaskEntry* top = top_.load(std::memory_order_seq_cst);
        while (top != nullptr && top != &closed_) {
            if (top_.compare_exchange_weak(top, nullptr, std::memory_order_acquire))
                return reversed(top);
        }
        return {};
    }

    /// Refuses all further entries. Returns those that are left, for `inOrder`, without touching
    /// them.
    TimerTaskEntry* close() noexcept {
        TimerTaskEntry* const top = top_.exchange(&closed_, std::memory_order_seq_cst);
        return top == &closed_ ? nullptr : top;
    }
    static EntryQueue<Link> inOrder(TimerTaskEntry* top) noexcept { return reversed(top); }

    void open() noexcept { top_.store(nullptr, std::memory_order_seq_cst); }

    bool empty() const noexcept {
        TimerTaskEntry const* const top = top_.load(std::memory_order_seq_cst);
        return top == nullptr || top == &closed_;
    }

private:
    static EntryQueue<Link> reversed(TimerTaskEntry* const top) noexcept {
        TimerTaskEntry* first = nullptr;
        for (TimerTaskEntry* entry = top; entry != nullptr;) {
            TimerTaskEntry* const below = Link::next(*entry);
            Link::setNext(*entry, first);
            first = std::exchange(entry, below);
        }
        return {first, top};
    }

    static inline TimerTaskEntry closed_{};  // in no stack: its address says that this is closed

    std::atomic<TimerTaskEntry*> top_{&closed_};
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
