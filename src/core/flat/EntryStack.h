#pragma once

#include <timingwheel/wheel/TimerTaskEntry.h>
#include <timingwheel/wheel/detail/EntryLinks.h>

#include <atomic>
#include <utility>

namespace timingwheel::inline v1::detail {

/// Entries in the order of their arrival, through their second links. For one thread.
class EntryQueue {
public:
    explicit EntryQueue(TimerTaskEntry* first = nullptr) noexcept : first_{first} {}

    bool empty() const noexcept { return first_ == nullptr; }
    /// REQUIRES: not empty.
    TimerTaskEntry& takeFirst() noexcept {
        TimerTaskEntry& taken = *first_;
        first_ = EntryLinks::second(taken);
        return taken;
    }

private:
    TimerTaskEntry* first_;
};

/// A stack on which any thread pushes entries, through their second links, and from which one
/// thread at a time takes them all. Callers and a worker meet here without a lock.
class EntryStack {
public:
    void push(TimerTaskEntry& entry) noexcept {
        TimerTaskEntry* top = top_.load(std::memory_order_relaxed);
        do {
            EntryLinks::setSecond(entry, top);
        } while (!top_.compare_exchange_weak(top, &entry, std::memory_order_seq_cst));
    }

    /// Takes all entries, oldest first. If a thread pushes an entry and then does not see a value
    /// that the caller stored (seq_cst) before this call, its entry is among those taken.
    EntryQueue takeAll() noexcept {
        // Most often there is nothing, which costs no exchange.
        if (empty()) return EntryQueue{};
        TimerTaskEntry* first = nullptr;
        for (auto* entry = top_.exchange(nullptr, std::memory_order_acquire); entry != nullptr;) {
            TimerTaskEntry* const below = EntryLinks::second(*entry);
            EntryLinks::setSecond(*entry, first);
            first = std::exchange(entry, below);
        }
        return EntryQueue{first};
    }

    bool empty() const noexcept { return top_.load(std::memory_order_seq_cst) == nullptr; }

private:
    std::atomic<TimerTaskEntry*> top_{nullptr};
};

}  // namespace timingwheel::inline v1::detail
