#pragma once

#include <timingwheel/Duration.h>
#include <timingwheel/Executor.h>
#include <timingwheel/TaskPool.h>
#include <timingwheel/Timer.h>
#include <timingwheel/TimerOptions.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/detail/platform/CacheLine.h>
#include <timingwheel/detail/platform/export.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace timingwheel::inline v1 {

namespace detail {
class HashedWheelCore;
class LiveTimer;
}  // namespace detail

/// A message of a HashedWheelTimer that is not about a task.
struct TimerLog {
    enum class Level : std::uint8_t { warning, error };
    Level level;
    std::string_view timerName;
    std::string_view message;
};

/// Options of HashedWheelTimer. All are checked by the constructor, which throws
/// std::invalid_argument with the option's name, its value and the bound.
struct HashedWheelTimerOptions {
    /// Time between two visits of the wheel. At least 1 ns; less than 1 ms becomes 1 ms, with a
    /// warning. Less than the longest Duration divided by `ticksPerWheel`.
    Duration tick = std::chrono::milliseconds{100};
    /// Slots of the wheel: 1 to 2^30, rounded up to a power of two.
    std::int64_t ticksPerWheel = 512;
    /// For messages, and the worker thread's name: at most 15 bytes.
    std::string name = "timingwheel";
    /// Must outlive the timer.
    std::reference_wrapper<Clock> clock = Clock::steady();
    /// Where tasks run: by default on the worker. Must outlive the timer.
    Executor executor = {};
    /// Gives the timer a pool of its own for the tasks, instead of an executor.
    std::optional<TaskPoolOptions> taskPool = {};
    /// If true, newTimeout runs a task whose delay is zero or negative on the calling thread, or
    /// gives it to the executor, before it returns. By default such a task waits for the next tick.
    bool immediateIfDue = false;
    /// How many timeouts may be pending; 0: no limit.
    std::size_t maxPendingTimeouts = 0;
    /// Reports a timer that is destroyed, or still running when the process exits, without stop().
    bool leakDetection = true;
    /// Makes the worker thread: see TimerOptions.
    ThreadFactory threadFactory = {};
    /// Receives what tasks throw, and the tasks that the executor rejected. By default one line on
    /// stderr. Called with no lock held.
    std::function<void(TaskFailure const&)> errorHandler = {};
    /// A run that takes at least this long is reported to `slowTaskHandler`, once.
    Duration slowTaskThreshold = (Duration::max)();
    /// By default one line on stderr.
    std::function<void(SlowTask const&)> slowTaskHandler = {};
    /// Receives warnings, such as of too many timers or of leaked ones. By default one line on
    /// stderr.
    std::function<void(TimerLog const&)> logger = {};
    /// Receives every step; must outlive the timer.
    TimerObserver* observer = nullptr;
};

/// Netty's timer: one flat wheel of slots that a worker thread visits tick by tick. For users who
/// know Netty's, and for comparison. SystemTimer is the better choice if timeouts are long, far
/// apart, or rescheduled.
///
///     timingwheel::HashedWheelTimer timer{100ms, 512};
///     timingwheel::Timeout t = timer.newTimeout([](timingwheel::Timeout const& t) { ... }, 5s);
///     auto unprocessed = timer.stop();
///
/// A new timeout waits in a queue until the next tick. Then the worker moves it to the slot
/// (tick of its deadline) mod slots, where it stays until its turn of the wheel has come. At each
/// tick the worker
///
/// 1. unlinks what was cancelled since the last tick;
/// 2. takes at most 100,000 new timeouts from the queue;
/// 3. runs what is due in the tick's slot.
///
/// The worker ticks while something is pending and sleeps otherwise. If it is late, it walks every
/// tick that it missed.
///
/// Behaviour, states and order are Netty's; docs/decisions/0006 says what differs and why. Not
/// offered: reschedule, periodic tasks, hooks, sleeps.
///
/// States         created, started by start() or the first newTimeout, stopped by stop() for good
/// Outcome        a timeout expires when its tick takes it out, before its task runs. From then on
///                isExpired() is true and cancel() returns false, even inside the task and while
///                it waits in an executor's queue. The worker unlinks a cancelled timeout at the
///                next tick, calls its `cancelled()` and destroys its task; cancelAndWait() does
///                that at once. A task with neither `cancelled()` nor a destructor that does
///                anything ends in cancel() itself
/// Units          deadlines are rounded up to the next tick *after* them, counted from the start of
///                the worker: never early, late by more than zero and at most one tick, plus the
///                wake-up latency. Zero and negative delays run at the next tick. A task that
///                schedules itself again with a delay of one tick runs every second tick. A time
///                point counts as the delay that its clock has left. A tolerance is checked, and
///                otherwise makes no difference
/// Order          within a tick, the order of arrival
/// Complexity     newTimeout and cancel O(1), nearly always without a lock; a tick O(timeouts in
///                its slot), where each that is not due costs reading 4 bytes
/// Memory         48 bytes plus the task for a timeout, and 12 bytes in its slot. A cancelled one
///                whose task has a destructor or a `cancelled()`, or which is in its slot, keeps
///                them until the worker's next tick: callers that schedule and cancel such without
///                a pause can run far ahead of the worker, and only `maxPendingTimeouts` bounds
///                that. All others are freed with their last handle. The queue has two parts in
///                turn, of 8 bytes for each newTimeout between two ticks; each keeps the largest
///                size that it ever had. The timer object fills one cache line
/// Thread safety  every function from any thread, also from inside a task except stop
/// Lifetime       as SystemTimer
/// Errors         thrown before anything has changed; what tasks throw goes to the error handler.
///                If there is no memory for a slot, timeouts wait in the queue until the next tick
///
/// Source: the behaviour and its names are those of Netty's HashedWheelTimer (G. Varghese,
/// T. Lauck, "Hashed and Hierarchical Timing Wheels", 1987, scheme 6); the task pool, `isDone` and
/// immediate runs are those of PowerJob's variant.
class TIMINGWHEEL_API HashedWheelTimer final : private detail::OnACacheLine, public Timer {
public:
    /// 100 ms, 512 slots.
    HashedWheelTimer();
    explicit HashedWheelTimer(Duration tick, std::int64_t ticksPerWheel = 512);
    /// With a thread factory, which must not be empty. A limit of 0 or less is none.
    template <std::convertible_to<ThreadFactory> Factory>
    explicit HashedWheelTimer(Factory threadFactory, Duration tick = std::chrono::milliseconds{100},
                              std::int64_t ticksPerWheel = 512, bool leakDetection = true,
                              std::int64_t maxPendingTimeouts = -1, Executor taskExecutor = {})
        : HashedWheelTimer{optionsOf(std::move(threadFactory), tick, ticksPerWheel, leakDetection,
                                     maxPendingTimeouts, taskExecutor)} {}
    explicit HashedWheelTimer(HashedWheelTimerOptions options);

    /// Stops and drops what is pending. Reports a leak if stop() was not called.
    ~HashedWheelTimer() override;

    /// Starts the worker; otherwise the first newTimeout does. Throws std::logic_error once the
    /// timer was stopped, and what the thread factory throws; a later call tries again.
    void start();

    /// Lets the worker finish the slot in progress, waits for tasks that run on an executor, and
    /// returns what will not run: what was pending, and what still waits in an executor's queue.
    ///
    /// - Each timeout that it returns is cancelled, and its `cancelled()` is called.
    /// - It does not return what was cancelled before.
    /// - Any other caller, even at the same time, gets an empty range at once.
    /// - From inside a task of this timer it throws std::logic_error.
    StoppedTimeouts stop() override;

    /// Timeouts accepted and not expired; a cancelled one counts until the next tick.
    std::size_t pendingTimeouts() const override;

    /// What has happened so far.
    TimerStatistics statistics() const;

    Clock& clock() const noexcept;
    std::string const& name() const noexcept;
    std::chrono::nanoseconds tick() const noexcept;
    /// After rounding up.
    std::int64_t ticksPerWheel() const noexcept;

private:
    static HashedWheelTimerOptions optionsOf(ThreadFactory threadFactory, Duration tick,
                                             std::int64_t ticksPerWheel, bool leakDetection,
                                             std::int64_t maxPendingTimeouts, Executor executor);
    Timeout accept(detail::TaskSource task, When when, TimeoutOptions options) override;
    bool findPending(std::size_t part, std::vector<detail::FoundTimeout>& found) const override;

    detail::HashedWheelCore* core_;
    std::unique_ptr<detail::LiveTimer> live_;
};

}  // namespace timingwheel::inline v1
