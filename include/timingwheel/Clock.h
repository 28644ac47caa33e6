#pragma once

#include <timingwheel/Duration.h>
#include <timingwheel/detail/platform/export.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace timingwheel::inline v1 {

/// Where a timer gets the time, and how its driver thread sleeps.
///
/// All clocks share the time-point type of std::chrono::steady_clock. So a deadline is a plain
/// steady time point, and one of the system clock does not compile: `wallTime` makes one of it, for
/// timers under a clock of `Kind::wall`. Timers expect every other clock never to go back. If one
/// does, nothing runs before the clock has shown its deadline, and nothing is lost, but the timer
/// waits until it has caught up.
///
/// Thread safety  every function may be called from any thread
/// Lifetime       a clock must outlive the timers that use it, but not their handles and hooks
class TIMINGWHEEL_API Clock {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    Clock() = default;
    virtual ~Clock();
    Clock(Clock const&) = delete;
    Clock& operator=(Clock const&) = delete;

    virtual TimePoint now() const noexcept = 0;

    /// A reading that may be cheaper than now(): never ahead of it, and behind it by at most
    /// `coarseLag()`. By default now() itself, which is behind by nothing.
    virtual TimePoint coarseNow() const noexcept;
    virtual std::chrono::nanoseconds coarseLag() const noexcept;

    /// What a clock does while the machine is suspended, and when somebody sets the system's time.
    enum class Kind : std::uint8_t {
        steady,      ///< may stand still while suspended; nobody sets it
        continuous,  ///< goes on while suspended; nobody sets it
        wall,        ///< goes on while suspended, and may be set forward and back
    };
    /// By default steady. A LoopTimer needs a descriptor of the same kind. If a clock of
    /// `Kind::wall` goes back, a timer turns its wheels back: its waiters must return then. Its
    /// timers may call now() with a lock of theirs held, so now() must not use a timer, nor wait
    /// for a thread that does.
    virtual Kind kind() const noexcept;

    /// How one thread sleeps under a clock, and how others wake it. Each timer with a thread has
    /// one of its own.
    ///
    /// Thread safety  waitUntil: one thread at a time. wake: any thread, at any time
    /// Lifetime       handles and hooks keep it, so it may outlive its clock: only waitUntil may
    ///                use the clock
    /// Errors         neither function may throw
    class TIMINGWHEEL_API Waiter {
    public:
        Waiter() = default;
        virtual ~Waiter();
        Waiter(Waiter const&) = delete;
        Waiter& operator=(Waiter const&) = delete;

        /// Blocks until the clock reaches `until` (`TimePoint::max()`: never), or until woken.
        ///
        /// - Returns at once if it was woken since it last returned.
        /// - May return early: the caller looks at the clock again.
        /// - Returns if the clock is set to `until` or beyond, unless that clock has the timer wake
        ///   it (see `subscribe`).
        virtual void waitUntil(TimePoint until) noexcept = 0;

        /// Ends the waitUntil that is under way, or else the next one. A timer may call it with a
        /// lock of its own held: it must not use a timer, nor wait for a thread that does.
        virtual void wake() noexcept = 0;
    };

    /// Called by the constructor of a timer with a thread. Must not return null; exceptions leave
    /// that constructor. A clock that shows the time of the steady one may return
    /// `steady().makeWaiter()`.
    virtual std::unique_ptr<Waiter> makeWaiter() = 0;

    /// A timer registers here. Only a clock that is set by hand needs its listeners.
    virtual void subscribe(std::weak_ptr<ClockListener> listener);

    /// std::chrono::steady_clock, the default of every timer. `coarseLag()` shows which coarse
    /// reading it has:
    ///
    /// - 64 us: the calling thread's last exact one, as long as the processor's counter says that
    ///   it is at most 32 us old. It takes no fence. On Linux, x86-64 or ARM64, where the kernel
    ///   computes the clock from that counter.
    /// - Milliseconds: CLOCK_MONOTONIC_COARSE, on other Linux machines. The kernel renews it at
    ///   each of its ticks. The lag is three of these, since a tick may come late.
    /// - 0: now() itself, on other systems.
    static Clock& steady() noexcept;

    /// The time since the machine started, suspension included: a timeout of 30 minutes, set before
    /// a laptop sleeps for an hour, is due when it wakes. The steady clock stands still meanwhile.
    ///
    /// - Its time points are ahead of the steady clock's by the time of suspension: take them from
    ///   its `now()`.
    /// - It does not wake the machine.
    /// - On Linux (CLOCK_BOOTTIME) the kernel wakes the timer's thread at resume. Each timer with a
    ///   thread takes two descriptors. On macOS (mach_continuous_time) and Windows
    ///   (QueryInterruptTime) the thread looks again each second while it waits for a time.
    ///
    /// Throws std::system_error where there is no such clock.
    static Clock& continuous();

    /// The system's time of day, std::chrono::system_clock: for deadlines that people name, "at
    /// 18:00, whatever the clock is set to". Its time points count from 1970 UTC; `wallTime` and
    /// `systemTime` convert them.
    ///
    /// - When somebody sets the time, deadlines stay at their time of day: those that it has passed
    ///   run at once, and those that lie ahead again wait again. Delays count from the time of day,
    ///   too: what must happen 30 minutes from now belongs in a timer under another clock.
    /// - On Linux the kernel notifies the timer's thread, or the loop, at once when the time is set
    ///   (TFD_TIMER_CANCEL_ON_SET). Each timer with a thread takes two descriptors. Elsewhere the
    ///   thread looks again each minute while it waits for a time.
    /// - A timer's ticks count from 1970, unless `TimerOptions::start` says otherwise. Before that
    ///   nothing runs.
    static Clock& wall() noexcept;

    /// A time of the system's clock as one of `wall()`. What lies beyond the years 1677 to 2262
    /// becomes the end of that time: `TimePoint::max()`, never, and `TimePoint::min()`. Throws
    /// std::invalid_argument for NaN.
    template <class Length>
    static constexpr TimePoint wallTime(
        std::chrono::time_point<std::chrono::system_clock, Length> time) {
        return TimePoint{Duration{time.time_since_epoch()}.nanoseconds()};
    }
    /// The reverse, rounded down to what the system's clock can express.
    static constexpr std::chrono::system_clock::time_point systemTime(TimePoint time) noexcept {
        using Length = std::chrono::system_clock::duration;
        return std::chrono::system_clock::time_point{
            std::chrono::floor<Length>(time.time_since_epoch())};
    }
};

/// A timer, as a clock that is set by hand sees it.
class TIMINGWHEEL_API ClockListener {
public:
    virtual ~ClockListener();
    /// When this timer next has something to do, or earlier; nothing if never.
    virtual std::optional<Clock::TimePoint> nextExpiration() = 0;
    /// Runs what is due now. Returns when all of it has run, whatever the executor.
    virtual void runDue() = 0;
    /// True when the calling thread is inside a task of this timer.
    virtual bool isInsideTask() const noexcept = 0;
    /// How often its thread has woken up. If this changes while all timers of a clock run what is
    /// due, one after another, there was something to do, which may still run: let them run again.
    virtual std::uint64_t wakeUps() const noexcept { return 0; }
};

}  // namespace timingwheel::inline v1
