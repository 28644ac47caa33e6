#pragma once

#include "core/driver/book/ListCursor.h"

#include <timingwheel/detail/TimeoutEntry.h>
#include <timingwheel/wheel/TimerTaskList.h>

#include <cstddef>

namespace timingwheel::inline v1::detail {

/// The tasks that wait for an executor, and how many claims the executor holds.
///
/// An executor gets claims, never entries. A claim says "run one of the queued tasks", so a task
/// can leave the queue while its claim is on its way (docs/decisions/0001). There are never fewer
/// claims than tasks.
///
/// Thread safety  none: guarded by the keeper's lock
class ExecutorQueue {
public:
    std::size_t size() const noexcept { return size_; }
    std::size_t claims() const noexcept { return claims_; }
    TimerTaskList const& list() const noexcept { return list_; }
    /// The place of a walk along the list.
    ListCursor& cursor() noexcept { return cursor_; }

    /// Adds a task, and the claim that the executor is about to be given for it.
    void push(TimeoutEntry& entry) noexcept {
        list_.add(entry);
        ++size_;
        ++claims_;
    }
    void copyClaim() noexcept { ++claims_; }

    /// Uses a claim up. Returns the task that it runs, the oldest; null if all tasks have left.
    TimeoutEntry* useClaim() noexcept {
        --claims_;
        return list_.empty() ? nullptr : &takeFirst();
    }
    /// Gives up a claim that has run nothing. Returns the task that has no claim left, the newest;
    /// null if there are enough claims.
    TimeoutEntry* dropClaim() noexcept {
        --claims_;
        if (claims_ >= size_) return nullptr;
        --size_;
        auto& newest = static_cast<TimeoutEntry&>(list_.list(0).back());
        cursor_.passOver(newest);
        TimerTaskList::remove(newest);
        return &newest;
    }

    /// Takes a task out; its claim stays. REQUIRES: it is in here.
    void unlink(TimeoutEntry& entry) noexcept {
        cursor_.passOver(entry);
        TimerTaskList::remove(entry);
        --size_;
    }
    /// The same for the oldest task. REQUIRES: size() > 0.
    TimeoutEntry& takeFirst() noexcept {
        --size_;
        cursor_.passOver(list_.list(0).front());
        return static_cast<TimeoutEntry&>(list_.takeFirst());
    }

private:
    TimerTaskList list_;
    std::size_t size_ = 0;
    std::size_t claims_ = 0;
    ListCursor cursor_;
};

}  // namespace timingwheel::inline v1::detail
