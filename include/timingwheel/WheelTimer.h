#pragma once

#include <timingwheel/Sleep.h>
#include <timingwheel/StopToken.h>
#include <timingwheel/Tick.h>
#include <timingwheel/Timer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerOptions.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/When.h>
#include <timingwheel/detail/platform/StopToken.h>
#include <timingwheel/detail/platform/export.h>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace timingwheel::inline v1 {

namespace detail {
class TimerCore;
enum class DrivenBy : unsigned char;
}  // namespace detail

/// The common part of SystemTimer, LoopTimer and ManualTimer: what a wheel with levels can do
/// beyond `Timer`.
///
/// Time points are those of the timer's clock and have the type of std::chrono::steady_clock's. One
/// of std::chrono::system_clock does not compile.
class TIMINGWHEEL_API WheelTimer : public Timer {
public:
    using TimePoint = Clock::TimePoint;

    ~WheelTimer() override;

    /// Runs `task` after `first`, then every `period`, measured from when each run was due. Each
    /// run is rounded up to a tick, the period is not: so a rate holds in the long run. A negative
    /// `first` counts as zero. A run never overlaps the next. The handle is pending between runs.
    /// Cancelling it, even from inside the task, ends the series. Errors as in `newTimeout`; also
    /// std::invalid_argument for a period below one tick.
    template <class Task, class First = Duration, class Period = Duration>
    Timeout scheduleAtFixedRate(Task task, First first, Period period,
                                MissedTicks missed = MissedTicks::skip) {
        detail::requireTask<Task>();
        return detail::withTask(*this, task, [&](auto& accepted) {
            return acceptPeriodic(detail::sourceOf(accepted), first, period, false, missed);
        });
    }

    /// Runs `task` after `first`, then each time `delay` after the end of the last run. Otherwise
    /// as above.
    template <class Task, class First = Duration, class Delay = Duration>
    Timeout scheduleWithFixedDelay(Task task, First first, Delay delay) {
        detail::requireTask<Task>();
        return detail::withTask(*this, task, [&](auto& accepted) {
            return acceptPeriodic(detail::sourceOf(accepted), first, delay, true,
                                  MissedTicks::skip);
        });
    }

    /// Runs `task` at the times of a series that `timeAfter` computes: a calendar, or a rhythm of
    /// your own. `timeAfter(time)` returns the first of them that is later than `time`, or nothing
    /// if that was the last. See <timingwheel/calendar/scheduleByCalendar.h>.
    ///
    /// - The first call is made here, with the clock's now. Every other is made by the thread of a
    ///   run, after the task, without a lock, with the time that this run had. So nothing drifts.
    /// - A run whose time has come by then was missed. `skip` calls `timeAfter` again, with now.
    ///   `catchUp` runs the task at once. There is no `shift`.
    /// - The series ends when nothing is returned. It also ends if `timeAfter` throws or returns a
    ///   time that is not later: then the error handler is called.
    /// - Under a clock of `Kind::wall` that goes back by up to three hours, no time comes twice. A
    ///   longer way back is a correction: the next time is computed at once, from the new now.
    ///
    /// Otherwise as scheduleAtFixedRate. In what stop() returns, `target` and `task()` of such a
    /// task are null. Errors as in `newTimeout`, and what `timeAfter` throws; also
    /// std::invalid_argument for `shift`, for an empty `timeAfter`, for a series without a first
    /// time, and for one whose first time is not later than now.
    template <class Task, TimeAfterFunction TimeAfter>
    Timeout scheduleAtTimes(Task task, TimeAfter timeAfter,
                            MissedTicks missed = MissedTicks::skip) {
        detail::requireTask<Task>();
        if (detail::isEmptyTask(timeAfter)) detail::throwEmptyTimeAfter();
        return detail::withTask(*this, task, [&](auto& accepted) {
            using Accepted = std::remove_reference_t<decltype(accepted)>;
            detail::TaskAtTimes<Accepted, TimeAfter> both{std::move(accepted),
                                                          std::move(timeAfter)};
            return acceptAtTimes(detail::sourceOf(both), missed);
        });
    }

    /// A coroutine sleeps in `co_await timer.sleep(30s)`: see Sleep. Stopping the token ends the
    /// sleep.
    Sleep sleep(When when) noexcept { return {*this, when}; }
#ifdef TIMINGWHEEL_STOP_TOKEN
    StoppableSleep sleep(When when, std::stop_token token) noexcept {
        return {*this, when, std::move(token)};
    }

    /// A stop token that is stopped when the time has come, or the parent is: see StopAfter. Errors
    /// as in `newTimeout`.
    StopAfter stopAfter(When when, std::stop_token parent = {}) {
        return {*this, when, std::move(parent)};
    }
#endif

    /// Does not compile: a task is no hook.
    template <SchedulableTask Task, class... Rest>
    void schedule(Task const&, Rest const&...) {
        static_assert(!detail::kIsTask<Task>, "schedule() takes a TimerHook: call newTimeout()");
    }

    /// Schedules a hook, or moves its deadline if it is pending. Either way it runs once, at the
    /// deadline that was named last. During its run it is not pending: then it is scheduled anew.
    /// Several threads may do so at once. A push-back takes no lock, as in `reschedule`. Allocates
    /// only if a level has to be built. Errors as in `newTimeout`; also std::logic_error for a hook
    /// that is pending, or whose task runs, in another timer.
    void schedule(TimerHookBase& hook, When when, TimeoutOptions options = {});

    /// Moves the deadline. Succeeds until the task starts, even if it is due and waits for its
    /// turn; after that it returns false and changes nothing. A periodic task continues from the
    /// new deadline. To a later deadline it takes no lock, except the first time in a shard; to a
    /// time point without a tolerance it then does not read the clock either, so one that has just
    /// passed may count until the next tick.
    ///
    /// Throws, and then nothing has changed:
    ///
    /// - std::invalid_argument for another timer's timeout, or a negative tolerance;
    /// - std::bad_alloc if a level cannot be built.
    bool reschedule(Timeout const& timeout, When when, TimeoutOptions options = {});

    // Batches, for a loop that has many timeouts at hand. Each does what the calls one by one would
    // do, in their order, but reads the clock once and fetches the entries from memory side by
    // side. `schedule` and `cancel` take the lock of a shard once for at most 256 hooks in a row
    // that belong to it; for a hook that is new here `schedule` takes it singly.
    //
    // A null pointer, or a hook or handle of another timer where none may be, is refused with
    // std::invalid_argument that names its index, before anything has changed. Where another error
    // is thrown, the calls before it have taken effect, and no later one.

    /// Moves each deadline. Returns how many were moved. Skips a hook that was never scheduled, and
    /// an empty handle. Errors as in `reschedule`.
    std::size_t reschedule(std::span<TimerHookBase* const> hooks, When when,
                           TimeoutOptions options = {});
    std::size_t reschedule(std::span<Timeout const* const> timeouts, When when,
                           TimeoutOptions options = {});
    /// Schedules or moves each hook; one of another timer may come here as it may singly. Errors as
    /// in `schedule`.
    void schedule(std::span<TimerHookBase* const> hooks, When when, TimeoutOptions options = {});
    /// Cancels each hook. Returns how many were pending and will not run. Skips a hook that was
    /// never scheduled.
    std::size_t cancel(std::span<TimerHookBase* const> hooks);

#ifdef TIMINGWHEEL_STOP_TOKEN
    // With a std::stop_token: what they return cancels the hooks when the token is stopped, as long
    // as it lives. If the token is stopped already, nothing is scheduled, and what was pending is
    // cancelled. A batch's array must outlive what is returned.

    [[nodiscard]] CancelOnStop schedule(TimerHookBase& hook, When when, std::stop_token token,
                                        TimeoutOptions options = {}) {
        if (!token.stop_requested()) schedule(hook, when, options);
        return {std::move(token), hook};
    }
    [[nodiscard]] CancelOnStop schedule(std::span<TimerHookBase* const> hooks, When when,
                                        std::stop_token token, TimeoutOptions options = {}) {
        if (!token.stop_requested()) schedule(hooks, when, options);
        return {std::move(token), hooks};
    }
#endif

    /// Cancels everything and goes on: the timer stays usable. Returns how many timeouts and hooks
    /// it cancelled. `cancelled()` is called and captures are destroyed before this returns, unless
    /// a cancelAndWait() on another thread does so.
    ///
    /// - Of what was accepted before the call, nothing is pending after it, and nothing periodic
    ///   runs again. A task that the timer has just begun with may be entered a moment later.
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
    Timeout accept(detail::TaskSource task, When when, TimeoutOptions options) override;
    bool findPending(std::size_t part, std::vector<detail::FoundTimeout>& found) const override;
    Timeout acceptPeriodic(detail::TaskSource task, Duration first, Duration period,
                           bool fixedDelay, MissedTicks missed);
    Timeout acceptAtTimes(detail::TaskSource task, MissedTicks missed);

    detail::TimerCore* core_;
};

}  // namespace timingwheel::inline v1
