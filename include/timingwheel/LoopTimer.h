#pragma once

#include <timingwheel/WheelTimer.h>
#include <timingwheel/detail/platform/NativeHandle.h>
#include <timingwheel/detail/platform/export.h>

#include <cstddef>
#include <limits>
#include <optional>

namespace timingwheel::inline v1 {

/// A timer that lives in one event loop and may be used from any thread. It has no thread of its
/// own: the loop waits for its descriptor, beside its sockets, and then calls runDue().
///
///     timingwheel::LoopTimer timer{{.tick = 100ms}};  // fine enough for idle connections
///     epoll_event event{EPOLLIN, {.fd = timer.nativeHandle()}};
///     epoll_ctl(epoll, EPOLL_CTL_ADD, timer.nativeHandle(), &event);
///     ...
///     if (event.data.fd == timer.nativeHandle()) timer.runDue();
///
/// - Tasks run inside runDue(), on the loop's thread.
/// - Every promise of SystemTimer holds from every thread: a schedule, a push-back, a truthful
///   cancel, a hook that is destroyed, cancelAndWait(), stop().
/// - The loop's thread, the first that calls runDue(), schedules, cancels and pushes back without
///   taking a lock: the lock is biased towards it. Another thread takes a mutex. In at most every
///   other turn of the loop the first one to do so also pays for a barrier in all threads of the
///   process: microseconds, on a virtual machine tens of them. Where the system has no such
///   barrier, or if another thread takes over the loop, every thread takes the mutex.
/// - The descriptor is set when the earliest expiration becomes earlier, by the call that does it,
///   and at the end of runDue() if it has changed, or if people may set the clock. Each is one
///   system call. Nothing has to be read from it.
///
/// Use one for each loop. Its tasks run one after another. If its clock is a ManualClock,
/// moving that clock is a call of runDue(), on the thread that moves it.
///
/// Order          as SystemTimer inline
/// Thread safety  any thread. If two call runDue() at a time, the second returns false at once
/// Lifetime       as SystemTimer. The destructor closes the descriptor: take it out of the loop
///                first. While it runs, other threads may use hooks and handles only
/// Errors         as SystemTimer; std::invalid_argument for an executor, a thread factory, spin,
///                or more than one shard; std::system_error if no descriptor is left, or the
///                system has none for the clock's kind
class TIMINGWHEEL_API LoopTimer final : public WheelTimer {
public:
    /// A file descriptor; on Windows the HANDLE of a waitable timer.
    using NativeHandle = detail::NativeHandle;

    explicit LoopTimer(TimerOptions options = {});
    ~LoopTimer() override;

    /// Becomes readable, or signalled, when runDue() must be called. A loop may wait for it in each
    /// way that the system has, level-triggered; if edge-triggered, call runDue() until it returns
    /// false. Under any other clock than the steady one it is set to the time left by that clock,
    /// and follows suspension and clock changes if the clock does.
    NativeHandle nativeHandle() const noexcept;

    /// Runs what is due now, in the order of deadlines: at most `atMost` tasks, and no further one
    /// once `TimerOptions::passBudget` is spent. Returns true if more may be due; the descriptor
    /// then stays readable. A task that becomes due during the call runs in the next one, or after
    /// later ticks of this one. Throws std::logic_error from inside a task of this timer.
    bool runDue(std::size_t atMost = (std::numeric_limits<std::size_t>::max)());

    /// When runDue() must be called at the latest; nothing if never. For a loop that waits with a
    /// time-out: if other threads use the timer, it must wait for the descriptor too. O(1).
    std::optional<TimePoint> nextExpiration() const noexcept;
    /// The same as a timeout for poll(2) or epoll_wait(2): milliseconds from now, rounded up so
    /// that the loop never spins; -1 means never.
    int pollTimeout() const noexcept;
};

}  // namespace timingwheel::inline v1
