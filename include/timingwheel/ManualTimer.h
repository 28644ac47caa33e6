#pragma once

#include <timingwheel/WheelTimer.h>
#include <timingwheel/export.h>

#include <cstddef>
#include <limits>
#include <optional>

namespace timingwheel {
inline namespace v1 {

/// SystemTimer's engine without thread and lock, for an event loop that asks when it must call, and
/// for simulations.
///
///     timingwheel::ManualTimer timer;
///     for (;;) {
///         poll(fds, n, timer.pollTimeout());
///         timer.advanceTo(timer.clock().now());
///     }
///
/// Delays count from the clock's now, also inside a task. With a ManualClock as its clock, moving
/// the clock drives the timer.
///
/// Order          as SystemTimer inline
/// Thread safety  none: one thread at a time
/// Lifetime       as SystemTimer
/// Errors         as SystemTimer; std::invalid_argument for an executor, shards or thread factory
class TIMINGWHEEL_API ManualTimer final : public WheelTimer {
public:
    explicit ManualTimer(TimerOptions options = {});
    ~ManualTimer() override;

    /// When advanceTo must be called at the latest; nothing if never. May be earlier than the
    /// earliest deadline, where an entry has to move down a level first. O(1).
    std::optional<TimePoint> nextExpiration() const noexcept;

    /// The same as a timeout for poll(2) or epoll_wait(2): milliseconds from now, rounded up so
    /// that the loop never spins, -1 for "never".
    int pollTimeout() const noexcept;

    /// Runs what is due by `now`, in the order of deadlines, at most `atMost` tasks. A task that
    /// becomes due meanwhile waits for the next call: where `now` is ahead of the clock, also
    /// behind later ticks of this one. What `atMost` leaves of a tick comes first in the next call,
    /// before what was made due at once between the two. Returns true if more is due. The time may
    /// go back: what `atMost` left of later ticks waits until those have come again. Throws
    /// std::logic_error from inside a task of this timer.
    bool advanceTo(TimePoint now, std::size_t atMost = std::numeric_limits<std::size_t>::max());
};

}  // namespace v1
}  // namespace timingwheel
