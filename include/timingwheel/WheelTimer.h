#pragma once

#include <timingwheel/Tick.h>
#include <timingwheel/Timer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerOptions.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/detail/platform/export.h>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace timingwheel {
inline namespace v1 {

class Sleep;
class StoppableSleep;
class StopAfter;

namespace detail {
class TimerCore;
enum class DrivenBy : unsigned char;

template <class T>
concept StopToken = requires(T const& token) {
    { token.stop_requested() } -> std::same_as<bool>;
    { token.stop_possible() } -> std::same_as<bool>;
};
/// <timingwheel/StopToken.h> has it for std::stop_token.
template <StopToken Token>
struct UntilStopped;
}  // namespace detail

/// The common part of SystemTimer, LoopTimer and ManualTimer: what a wheel with levels can do
/// beyond `Timer`.
///
/// Time points are those of the timer's clock and have the type of std::chrono::steady_clock's. One
/// of std::chrono::system_clock does not compile. A deadline in the past is due at once.
class TIMINGWHEEL_API WheelTimer : public Timer {
public:
    using TimePoint = Clock::TimePoint;

    ~WheelTimer() override;

    using Timer::newTimeout;

    /// With options. Errors as in `Timer::newTimeout`; also std::invalid_argument for a negative
    /// tolerance.
    template <SchedulableTask Task>
    Timeout newTimeout(Task task, Duration delay, TimeoutOptions options) {
        return acceptAfter(sourceOf(task), delay, options);
    }

    /// At a time point of the timer's clock.
    template <SchedulableTask Task>
    Timeout newTimeout(Task task, TimePoint deadline, TimeoutOptions options = {}) {
        return acceptAt(sourceOf(task), deadline, options);
    }

    /// Runs `function` on the object if that still lives by then; with options, or at a time point.
    /// As in `Timer::newTimeout`.
    template <class T, std::invocable<T&> Function>
    Timeout newTimeout(std::weak_ptr<T> object, Function function, Duration delay,
                       TimeoutOptions options) {
        return newTimeout(onLiving(std::move(object), std::move(function)), delay, options);
    }
    template <class T, std::invocable<T&> Function>
    Timeout newTimeout(std::weak_ptr<T> object, Function function, TimePoint deadline,
                       TimeoutOptions options = {}) {
        return newTimeout(onLiving(std::move(object), std::move(function)), deadline, options);
    }
    template <class T, std::invocable<T&> Function>
    Timeout newTimeout(std::shared_ptr<T> const& object, Function function, Duration delay,
                       TimeoutOptions options) {
        return newTimeout(weakly(object), std::move(function), delay, options);
    }
    template <class T, std::invocable<T&> Function>
    Timeout newTimeout(std::shared_ptr<T> const& object, Function function, TimePoint deadline,
                       TimeoutOptions options = {}) {
        return newTimeout(weakly(object), std::move(function), deadline, options);
    }

    /// Runs `task` after `first`, then every `period`, measured from when each run was due. A
    /// negative `first` counts as zero. A run never overlaps the next. The handle is pending
    /// between runs. Cancelling it, even from inside the task, ends the series. Errors as in
    /// `newTimeout`; also std::invalid_argument for a period below one tick.
    template <SchedulableTask Task>
    Timeout scheduleAtFixedRate(Task task, Duration first, Duration period,
                                MissedTicks missed = MissedTicks::skip) {
        return acceptPeriodic(sourceOf(task), first, period, false, missed);
    }

    /// Runs `task` after `first`, then each time `delay` after the end of the last run. Otherwise
    /// as above.
    template <SchedulableTask Task>
    Timeout scheduleWithFixedDelay(Task task, Duration first, Duration delay) {
        return acceptPeriodic(sourceOf(task), first, delay, true, MissedTicks::skip);
    }

    /// Runs `task` at the times of a series that `timeAfter` computes: a calendar, or a rhythm of
    /// your own. `timeAfter(time)` returns the first of them that is later than `time`, or nothing
    /// if that was the last. See <timingwheel/calendar/scheduleByCalendar.h>.
    ///
    /// - The first call is made here, with the clock's now. Every other is made by the thread of a
    ///   run, after the task, without a lock, with the time that this run had. So nothing drifts.
    /// - A run whose time has come by then was missed. `skip` asks again, with now. `catchUp` runs
    ///   it at once. There is no `shift`.
    /// - The series ends when nothing is returned. It also ends if `timeAfter` throws or returns a
    ///   time that is not later: then the error handler hears of it.
    /// - Under a clock of `Kind::wall` that goes back by up to three hours, no time comes twice. A
    ///   longer way back is a correction: the next time is computed at once, from the new now.
    ///
    /// Otherwise as scheduleAtFixedRate. What stop() returns does not know such a task: `target`
    /// and `task()` are null. Errors as in `newTimeout`, and what `timeAfter` throws; also
    /// std::invalid_argument for `shift`, for an empty `timeAfter`, for a series without a first
    /// time, and for one whose first time is not later than now.
    template <SchedulableTask Task, TimeAfterFunction TimeAfter>
    Timeout scheduleAtTimes(Task task, TimeAfter timeAfter,
                            MissedTicks missed = MissedTicks::skip) {
        detail::TaskAtTimes<Task, TimeAfter> both{std::move(task), std::move(timeAfter)};
        return acceptAtTimes(sourceOf(both), missed);
    }

    // With a std::stop_token: include <timingwheel/StopToken.h>. The thread that stops the token
    // cancels the timeout, as by `Timeout::cancel`. If it is stopped already, the timeout is
    // cancelled when the call returns, the task never runs, and times are not checked. Takes one
    // allocation more. What stop() returns does not know such a task: `target` and `task()` are
    // null.

    template <SchedulableTask Task, detail::StopToken Token>
    Timeout newTimeout(Task task, Duration delay, Token const& token, TimeoutOptions options = {}) {
        return detail::UntilStopped<Token>::schedule(
            *this, std::move(task), token,
            [&](auto stoppable) { return newTimeout(std::move(stoppable), delay, options); });
    }
    template <SchedulableTask Task, detail::StopToken Token>
    Timeout newTimeout(Task task, TimePoint deadline, Token const& token,
                       TimeoutOptions options = {}) {
        return detail::UntilStopped<Token>::schedule(
            *this, std::move(task), token,
            [&](auto stoppable) { return newTimeout(std::move(stoppable), deadline, options); });
    }
    template <SchedulableTask Task, detail::StopToken Token>
    Timeout scheduleAtFixedRate(Task task, Duration first, Duration period, Token const& token,
                                MissedTicks missed = MissedTicks::skip) {
        return detail::UntilStopped<Token>::schedule(
            *this, std::move(task), token, [&](auto stoppable) {
                return scheduleAtFixedRate(std::move(stoppable), first, period, missed);
            });
    }
    template <SchedulableTask Task, detail::StopToken Token>
    Timeout scheduleWithFixedDelay(Task task, Duration first, Duration delay, Token const& token) {
        return detail::UntilStopped<Token>::schedule(
            *this, std::move(task), token, [&](auto stoppable) {
                return scheduleWithFixedDelay(std::move(stoppable), first, delay);
            });
    }
    template <SchedulableTask Task, TimeAfterFunction TimeAfter, detail::StopToken Token>
    Timeout scheduleAtTimes(Task task, TimeAfter timeAfter, Token const& token,
                            MissedTicks missed = MissedTicks::skip) {
        return detail::UntilStopped<Token>::schedule(
            *this, std::move(task), token, [&](auto stoppable) {
                return scheduleAtTimes(std::move(stoppable), std::move(timeAfter), missed);
            });
    }

    /// A coroutine sleeps in `co_await timer.sleepFor(30s)`: see Sleep. With a std::stop_token that
    /// ends the sleep. Include <timingwheel/Sleep.h>.
    inline Sleep sleepFor(Duration delay);
    inline Sleep sleepUntil(TimePoint deadline);
    template <detail::StopToken Token>
    StoppableSleep sleepFor(Duration delay, Token token);
    template <detail::StopToken Token>
    StoppableSleep sleepUntil(TimePoint deadline, Token token);

    /// A stop token that is stopped after `delay`: see StopAfter. With a std::stop_token whose stop
    /// it passes on. Include <timingwheel/StopToken.h>. Errors as in `newTimeout`.
    inline StopAfter stopAfter(Duration delay);
    template <detail::StopToken Token>
    StopAfter stopAfter(Duration delay, Token parent);

    /// Do not compile: they say what is wrong with the task.
    template <class Task, class... Rest>
        requires detail::NotATask<Task>
    Timeout scheduleAtFixedRate(Task const&, Rest const&...) {
        detail::explain<std::decay_t<Task>>();
        return {};
    }
    template <class Task, class... Rest>
        requires detail::NotATask<Task>
    Timeout scheduleWithFixedDelay(Task const&, Rest const&...) {
        detail::explain<std::decay_t<Task>>();
        return {};
    }

    template <class Task, class... Rest>
        requires detail::NotATask<Task>
    Timeout scheduleAtTimes(Task const&, Rest const&...) {
        detail::explain<std::decay_t<Task>>();
        return {};
    }

    /// Does not compile: a task is no hook.
    template <SchedulableTask Task, class... Rest>
    void schedule(Task const&, Rest const&...) {
        static_assert(!detail::kIsTask<Task>, "schedule() takes a TimerHook: call newTimeout()");
    }

    /// Schedules a hook. Allocates only if a level has to be built. Errors as in `newTimeout`; also
    /// std::logic_error if the hook is scheduled already: use reschedule.
    void schedule(TimerHookBase& hook, Duration delay, TimeoutOptions options = {});
    void schedule(TimerHookBase& hook, TimePoint deadline, TimeoutOptions options = {});

    /// Moves the deadline to `delay` from now. Succeeds until the task starts, even if it is due
    /// and waits for its turn; after that it returns false and changes nothing. A periodic task
    /// continues from the new deadline. To a later deadline it takes no lock, except the first time
    /// in a shard.
    ///
    /// Throws, and then nothing has changed:
    ///
    /// - std::invalid_argument for another timer's timeout;
    /// - std::bad_alloc if a level cannot be built.
    bool reschedule(Timeout const& timeout, Duration delay, TimeoutOptions options = {});
    bool reschedule(Timeout const& timeout, TimePoint deadline, TimeoutOptions options = {});

    // Batches, for a loop that has many timeouts at hand. Each does what the calls one by one would
    // do, in their order, but reads the clock once and fetches the entries from memory side by
    // side. `schedule` and `cancel` take the lock of a shard once for at most 256 hooks in a row
    // that belong to it; for a hook that is new here `schedule` takes it singly.
    //
    // A null pointer, or a hook or handle of another timer where none may be, is refused with
    // std::invalid_argument that names its index, before anything has changed. Where another error
    // is thrown, the calls before it have taken effect, and no later one.

    /// Moves each deadline to `delay` from now. Returns how many were moved. Skips a hook that was
    /// never scheduled, and an empty handle. Errors as in `reschedule`.
    std::size_t reschedule(std::span<TimerHookBase* const> hooks, Duration delay,
                           TimeoutOptions options = {});
    std::size_t reschedule(std::span<Timeout const* const> timeouts, Duration delay,
                           TimeoutOptions options = {});
    /// Schedules each hook; one of another timer may come here as it may singly. Errors as in
    /// `schedule`.
    void schedule(std::span<TimerHookBase* const> hooks, Duration delay,
                  TimeoutOptions options = {});
    /// Cancels each hook. Returns how many were pending and will not run. Skips a hook that was
    /// never scheduled.
    std::size_t cancel(std::span<TimerHookBase* const> hooks);

    /// Cancels everything and goes on: the timer stays usable. Returns how many timeouts and hooks
    /// it cancelled. `cancelled()` is called and captures are destroyed before this returns, unless
    /// a cancelAndWait() on another thread does so.
    ///
    /// - Of what was accepted before the call, nothing runs that has not begun, and nothing that is
    ///   periodic runs again.
    /// - Of what is accepted during the call, some may be cancelled. What is moved during the call
    ///   may be cancelled instead: reschedule() then returns false.
    /// - Nothing is cancelled that is accepted after it.
    ///
    /// Does not wait for runs. O(pending), with at most 256 timeouts for each hold of a lock, after
    /// one hold that empties the buckets.
    std::size_t cancelAll() noexcept;

    StoppedTimeouts stop() override;
    std::size_t pendingTimeouts() const override;

    /// What has happened so far. O(shards).
    TimerStatistics statistics() const;

    Clock& clock() const noexcept;
    std::string const& name() const noexcept;
    std::chrono::nanoseconds tick() const noexcept;

    /// Throws std::logic_error that names the first broken invariant; std::bad_alloc. For tests.
    /// O(pending).
    void checkInvariants() const;

protected:
    WheelTimer(TimerOptions options, detail::DrivenBy driver);

    /// Call it in the destructor of each final class: tasks that still run need the whole object.
    void stopForGood() noexcept;

    detail::TimerCore& core() const noexcept { return *core_; }

private:
    Timeout accept(detail::TaskSource task, Duration delay) override;
    Timeout acceptAfter(detail::TaskSource task, Duration delay, TimeoutOptions options);
    Timeout acceptAt(detail::TaskSource task, TimePoint deadline, TimeoutOptions options);
    Timeout acceptPeriodic(detail::TaskSource task, Duration first, Duration period,
                           bool fixedDelay, MissedTicks missed);
    Timeout acceptAtTimes(detail::TaskSource task, MissedTicks missed);

    detail::TimerCore* core_;
};

}  // namespace v1
}  // namespace timingwheel
