#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>
#include <timingwheel/detail/platform/export.h>

#include <chrono>
#include <cstdint>

namespace timingwheel::inline v1 {

/// One step of a timeout, or of the timer, on the way from schedule to run.
///
/// The first nine stages are the flow; `cancel` ends it early. Each timeout ends with exactly one
/// event, a run or a cancel. A periodic timeout has many runs, each but the last followed by an
/// intake, and then ends with a cancel.
///
/// Events are dropped when memory runs out, even the final one. The final event is also dropped
/// when a task destroys its own timer: the observer may be gone by then.
///
/// A timeout gets a `cancel` event when
///
/// - its handle, its hook or cancelAll() cancelled it, its hook was destroyed, or its series ended;
/// - stop() returned it;
/// - the executor rejected it;
/// - a flat timer refused it because stop() came meanwhile.
///
/// If a periodic timeout is cancelled, stopped or drained during a run, the event follows that run.
///
/// The events show which entry is in which bucket, and which buckets are armed:
///
/// - place and cascade put an entry into a bucket; intake, wake, expire and cancel take it out.
/// - arm puts a bucket into the delay heap; wake takes it out, restart all of them.
/// - A push-back is not reported: the entry stays in its bucket and is placed again from there.
///
/// A flat wheel has no heap and arms nothing. A cancelled entry stays in its slot until the
/// worker's next tick. If it is placed at the very moment of its cancel, the place is reported
/// after the cancel.
struct TimerEvent {
    enum class Stage : std::uint8_t {
        schedule,  ///< accepted on the caller's thread
        intake,    ///< its deadline became a tick; `deadline` is set from here on. Repeated for a
                   ///< reschedule that is not a push-back, and for the next run of a periodic one.
                   ///< A place follows unless it is due at once
        place,     ///< put into a bucket: `level`, `slot`, `expiration`. Repeated when that bucket
                   ///< expired after a push-back
        arm,       ///< that bucket entered the delay heap; also after a cascade
        wake,      ///< the bucket left the delay heap and its entries were taken out (`entry` is
                   ///< null). A bucket whose entries were all cancelled may leave it on the thread
                   ///< that schedules next. In a flat wheel: the worker visits a tick
        cascade,   ///< an entry moved to a lower level: `fromLevel`, `level`, `slot`, `expiration`
        expire,    ///< its deadline was reached: it waits for its turn
        dispatch,  ///< handed to the executor
        run,       ///< its task returned: `time` is when it began, `lateness` how late that was,
                   ///< `duration` how long it ran
        cancel,    ///< it will not run, or not again: see above
        restart,   ///< a clock of Clock::Kind::wall was set back: the wheel's clock is at
        ///< `expiration` now (`entry` is null). All buckets have left the delay heap, and
        ///< all entries their buckets. A place follows for each, unless it is cancelled or
        ///< taken out to have its next time computed
    };

    Stage stage;
    bool isPeriodic = false;
    std::uint32_t shard = 0;
    std::uint32_t level = 0;
    std::uint32_t slot = 0;
    std::uint32_t fromLevel = 0;
    /// Numbers the events of this shard from 0, in the order in which they happened. Threads may
    /// deliver them in another order.
    std::uint64_t number = 0;
    Tick deadline{};
    Tick expiration{};
    /// Identifies the timeout while it is pending; equals `TimerObserver::entryOf()` of its handle
    /// or hook. A hook may be scheduled again during its run, whose event comes at its end.
    void const* entry = nullptr;
    Clock::TimePoint time{};
    std::chrono::nanoseconds lateness{};
    std::chrono::nanoseconds duration{};
};

/// Receives every step of a timer. For diagnosis, not for production loads: with an observer each
/// operation records its steps and reads the clock; without one it costs a branch.
///
/// Thread safety  called on the threads that made the steps, on several at once, with no lock held.
///                It may question the timer, schedule and cancel. It must not stop the timer or
///                advance its ManualClock, nor wait for a thread that does: both wait for calls of
///                the observer on other threads
/// Lifetime       must outlive the timer. Handles and hooks used after that report nothing
/// Memory         the timer keeps an event until it releases the lock under which it happened
/// Errors         must not throw
class TIMINGWHEEL_API TimerObserver {
public:
    TimerObserver() = default;
    virtual ~TimerObserver();
    TimerObserver(TimerObserver const&) = delete;
    TimerObserver& operator=(TimerObserver const&) = delete;

    virtual void onEvent(TimerEvent const& event) noexcept = 0;

    static void const* entryOf(Timeout const& timeout) noexcept;
    static void const* entryOf(TimerHookBase const& hook) noexcept;
};

TIMINGWHEEL_API char const* toString(TimerEvent::Stage stage) noexcept;

}  // namespace timingwheel::inline v1
