#pragma once

#include <timingwheel/WheelTimer.h>
#include <timingwheel/detail/platform/export.h>

#include <cstddef>
#include <limits>
#include <optional>

namespace timingwheel::inline v1 {

/// SystemTimer's engine without a thread or a lock: for simulations and tests, and for a loop that
/// alone uses its timer and asks it how long to wait.
///
///     timingwheel::ManualTimer timer;
///     for (;;) {
///         poll(fds, n, timer.pollTimeout());
///         timer.advanceTo(timer.clock().now());
///     }
///
/// Delays count from the clock's now, also inside a task. If its clock is a ManualClock, moving
/// that clock drives the timer.
///
/// A loop whose timer other code uses while it waits needs a LoopTimer. So does a server on epoll.
///
/// Order          as SystemTimer inline
/// Thread safety  none: one thread at a time, in turn under a lock of yours
/// Lifetime       as SystemTimer
/// Errors         as SystemTimer; std::invalid_argument for an executor, a thread factory, spin, or
///                more than one shard
class TIMINGWHEEL_API ManualTimer final : public WheelTimer {
public:
    explicit ManualTimer(TimerOptions options = {});
    ~ManualTimer() override;

    /// When advanceTo must be called at the latest; nothing if never. Earlier than the earliest
    /// deadline if an entry has to move down a level first. O(1).
    std::optional<TimePoint> nextExpiration() const noexcept;

    /// The same as a timeout for poll(2) or epoll_wait(2): milliseconds from now, rounded up so
    /// that the loop never spins; -1 means never.
    int pollTimeout() const noexcept;

    /// Runs what is due by `now`, in the order of deadlines: at most `atMost` tasks, and no further
    /// one once `TimerOptions::passBudget` is spent. Returns true if more may be due. Throws
    /// std::logic_error from inside a task of this timer.
    ///
    /// - A task that becomes due during the call runs in the next call, or after later ticks of
    ///   this one.
    /// - If `atMost` stops inside a tick, the next call first finishes that tick.
    /// - Under a clock of `Kind::wall` a `now` that is ahead of the clock counts as the clock's.
    /// - If `now` is earlier than in the last call, what that call left of later ticks waits until
    ///   they come again.
    bool advanceTo(TimePoint now, std::size_t atMost = (std::numeric_limits<std::size_t>::max)());
};

}  // namespace timingwheel::inline v1
