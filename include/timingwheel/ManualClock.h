#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace timingwheel::inline v1 {

/// A clock that you move by hand: for tests of code that uses timers.
///
///     timingwheel::ManualClock clock;
///     timingwheel::SystemTimer timer{{.clock = clock}};
///     timer.newTimeout(task, 30min);
///     clock.advance(30min);            // the task has run when this returns
///
/// The timer under it is the real one, with its thread: only now() and the driver's sleep come from
/// this clock.
///
/// - `advance` moves from one expiration to the next, so that every task sees its own time: a task
///   that schedules itself again after 1 s runs 3,600 times in an hour. It never moves back.
/// - `jump` sets the time at once, forward or back, as a suspended machine would.
///
/// Both return when everything due has run, whatever the executor. They never return if a task
/// makes itself due again at the very same instant for ever.
///
/// Thread safety  any thread; concurrent calls of advance and jump wait for each other, and each
///                duration counts from where the last one ended
/// Errors         std::logic_error from inside a task: it would wait for itself. std::bad_alloc:
///                the clock may have moved part of the way; what is due by then runs at the start
///                of the next call
class TIMINGWHEEL_API ManualClock final : public Clock {
public:
    /// With `Kind::wall` it plays the time of day: start it at a `wallTime`.
    explicit ManualClock(TimePoint start = TimePoint{}, Kind kind = Kind::steady) noexcept;
    ~ManualClock() override;

    TimePoint now() const noexcept override;
    Kind kind() const noexcept override { return kind_; }

    void advance(Duration duration);
    void advanceTo(TimePoint time);
    void jump(Duration duration);
    void jumpTo(TimePoint time);

    /// Its waiters sleep until they are woken. Moving the clock wakes the drivers.
    std::unique_ptr<Waiter> makeWaiter() override;
    void subscribe(std::weak_ptr<ClockListener> listener) override;

private:
    using Listeners = std::vector<std::shared_ptr<ClockListener>>;

    Listeners listeners();
    void refuseInsideTask();
    void moveTo(TimePoint time);  // REQUIRES: moving_ is locked, as for runDue
    void runDue();
    void setNow(TimePoint time) noexcept;

    std::atomic<std::int64_t> now_;
    Kind const kind_;
    std::mutex moving_;
    std::mutex listenersMutex_;
    std::vector<std::weak_ptr<ClockListener>> listeners_;
};

}  // namespace timingwheel::inline v1
