#pragma once

#include "core/timeout/TimeoutWord.h"

#include <timingwheel/Tick.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <atomic>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// The push-back without a lock: one compare-and-set moves a pending entry's deadline *later*. The
/// entry stays in its bucket, and is placed again when that expires.
///
/// Nothing else writes the word of a pending entry without the lock of its shard, so there are
/// three races, and the compare-and-set decides each:
///
///   - Of two push-backs the second sees what the first wrote. It tries again if its deadline is
///     still the later one; otherwise it is a move, under the lock.
///   - The driver marks an entry whose bucket has expired by a compare-and-set, too. If the driver
///     is first, the entry is not pending any more, and the push-back becomes a move. If the
///     push-back is first, the driver sees the new deadline and places the entry again.
///   - A cancel, under the lock, is decided in the same way.
///
/// A deadline goes no further than the shard's levels reach, since a level is built under the lock.
/// The reach is published here. It is released before a caller acquires it, so a thread that sees
/// it finds the levels.
///
/// Before the first push-back in a shard the driver marks by a plain store, which is cheaper
/// (docs/decisions/0007). So the first caller takes the lock once, and publishes the reach.
///
/// Thread safety  any number of threads, except that publish() needs the shard's lock
class PushBack {
public:
    /// False until a reach is published. A hint.
    bool isExpected() const noexcept { return reach_.load(std::memory_order_relaxed) != kNone; }

    /// From now on deadlines may move to before `reach`, and the driver must expect that.
    void publish(Tick reach) noexcept {
        if (reach_.load(std::memory_order_relaxed) != reach.value())
            reach_.store(reach.value(), std::memory_order_release);
    }

    /// Returns false, and has changed nothing, if this way does not do. Adds what moves to `moved`
    /// before it does: then its task may run, and destroy the timer.
    template <class Counter>
    bool move(TimeoutEntry& entry, Tick deadline, Counter& moved) const noexcept {
        TimeoutWord word = TimeoutWord::of(entry);
        if (!isLater(deadline, word)) return false;
        moved.add();
        do {
            if (TimeoutWord{deadline, TimeoutState::pending}.replace(entry, word)) return true;
        } while (isLater(deadline, word));
        moved.takeBack();
        return false;
    }

private:
    bool isLater(Tick deadline, TimeoutWord word) const noexcept {
        return word.state() == TimeoutState::pending && deadline >= word.deadline() &&
               deadline.value() < reach_.load(std::memory_order_acquire);
    }

    static constexpr std::int64_t kNone = INT64_MIN;

    std::atomic<std::int64_t> reach_{kNone};
};

}  // namespace timingwheel::inline v1::detail
