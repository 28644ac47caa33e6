#pragma once

#include <timingwheel/Duration.h>
#include <timingwheel/Executor.h>
#include <timingwheel/TaskPool.h>
#include <timingwheel/Timer.h>
#include <timingwheel/TimerOptions.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/detail/OnACacheLine.h>
#include <timingwheel/export.h>

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

namespace timingwheel {
inline namespace v1 {

namespace detail {
class HashedWheelCore;
class LiveTimer;
}  // namespace detail

/// What a HashedWheelTimer has to say that is no task's failure.
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
    /// Outlives the timer.
    std::reference_wrapper<Clock> clock = Clock::steady();
    /// Where tasks run: by default on the worker. Outlives the timer.
    Executor executor = {};
    /// Gives the timer a pool of its own for the tasks, instead of an executor.
    std::optional<TaskPoolOptions> taskPool = {};
    /// Runs a task whose delay is zero or negative before newTimeout returns, on the calling
    /// thread, or gives it to the executor; by default it waits for the next tick.
    bool immediateIfDue = false;
    /// How many timeouts may be pending; 0: no limit.
    std::size_t maxPendingTimeouts = 0;
    /// Reports a timer that is destroyed, or still running when the process exits, without stop().
    bool leakDetection = true;
    /// Makes the worker thread: see TimerOptions.
    ThreadFactory threadFactory = {};
    /// Hears of what tasks throw and of tasks that the executor rejected; by default one line on
    /// stderr. Called outside every lock.
    std::function<void(TaskFailure const&)> errorHandler = {};
    /// A task that runs for at least this long is told to `slowTaskHandler`, once for each run.
    Duration slowTaskThreshold = Duration::max();
    /// By default one line on stderr.
    std::function<void(SlowTask const&)> slowTaskHandler = {};
    /// Hears of warnings, of too many timers and of leaked ones; by default one line on stderr.
    std::function<void(TimerLog const&)> logger = {};
    /// Hears of every step; outlives the timer.
    TimerObserver* observer = nullptr;
};

/// Netty's timer: one flat wheel of slots that a worker thread visits tick by tick. For those who
/// know it, and to compare with SystemTimer, which is the better choice where timeouts are long,
/// far apart, or rescheduled.
///
///     timingwheel::HashedWheelTimer timer{100ms, 512};
///     timingwheel::Timeout t = timer.newTimeout([](timingwheel::Timeout const& t) { ... }, 5s);
///     auto unprocessed = timer.stop();
///
/// A new timeout waits in a queue until the next tick; then the worker moves it to the slot
/// (tick of its deadline) mod slots, where it stays for as many turns of the wheel as lie between.
/// A tick visits one slot: it first unlinks what was cancelled since the last tick, then takes at
/// most 100,000 new timeouts from the queue, then runs those in the slot that are due. The worker
/// ticks while something is pending and sleeps otherwise; when it is late it walks every tick that
/// it missed.
///
/// It is Netty's in behaviour, states and order; what differs, and why, stands in
/// docs/decisions/0006. What it does not do: reschedule, periodic tasks, hooks.
///
/// States         created, started by start() or the first newTimeout, stopped by stop() for good
/// Outcome        a timeout expires when its tick takes it out, before its task runs: inside the
///                task isExpired() is true, and cancel() is false from then on, also while it waits
///                in an executor's queue. A cancelled one is unlinked, told (`cancelled()`) and its
///                task destroyed by the worker at the next tick; cancelAndWait() does that at once
/// Units          deadlines are rounded to the next tick *after* them, counted from the start of
///                the worker: never early, late by more than nothing and at most a tick, and the
///                wake-up. Zero and negative delays run at the next tick. A task that schedules
///                itself again with a delay of one tick runs every second tick
/// Order          within a tick in the order of arrival
/// Complexity     newTimeout and cancel O(1), without a lock; a tick O(timeouts of its slot), of
///                which those that are not due cost 4 bytes of reading each
/// Memory         48 bytes and the task for each timeout, and 12 in its slot; cancelled ones too,
///                until the worker's next tick: callers that schedule and cancel without a pause
///                can run far ahead of it, and only a limit of pending timeouts bounds that. The
///                timer itself is one cache line
/// Thread safety  every function from any thread, also from inside a task but for stop
/// Lifetime       as SystemTimer
/// Errors         thrown before anything changed; what tasks throw goes to the error handler. When
///                memory for a slot runs out, timeouts wait in the queue and are tried again at
///                the next tick
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

    /// Stops, and drops what is pending. Reports a leak if stop() was not called.
    ~HashedWheelTimer() override;

    /// Starts the worker, which the first newTimeout would otherwise do. Throws std::logic_error
    /// once the timer was stopped, and what the thread factory throws; a later call tries again.
    void start();

    /// Ends the worker when it is done with the slot in progress, waits for tasks that run on an
    /// executor, and returns what will not run: what was pending, and what still waits in an
    /// executor's queue. Each is cancelled and told so; what the user cancelled before is not in
    /// it. Another caller, at the same time too, gets an empty range at once. Throws
    /// std::logic_error from inside a task of this timer.
    StoppedTimeouts stop() override;

    /// How many have been accepted and have not expired; cancelled ones count until the next tick.
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
    Timeout accept(detail::TaskSource task, Duration delay) override;

    detail::HashedWheelCore* core_;
    std::unique_ptr<detail::LiveTimer> live_;
};

}  // namespace v1
}  // namespace timingwheel
