#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>
#include <timingwheel/export.h>

#include <chrono>
#include <cstdint>

namespace timingwheel {
inline namespace v1 {

class Timeout;
class TimerHookBase;

/// One step of a timeout, or of the timer, on the way from schedule to run.
///
/// The first nine stages are the flow; `cancel` is what ends it early. A timeout ends with exactly
/// one event: with its run, or with a cancel. A periodic one has many runs, each followed by an
/// intake, and ends with a cancel after the last of them. An event for which there is no memory is
/// left out, be it that one; so is what ends a task that destroys its own timer, since the observer
/// may be gone by then.
///
/// `cancel` is told of a timeout that its handle or hook has cancelled, or whose hook has died;
/// that stop() has returned; that the executor has rejected; or that a flat timer which stopped
/// meanwhile has refused. Of a periodic one that is cancelled, stopped or drained during its run it
/// is told after that run.
///
/// From the events alone one can tell which entry is in which bucket and which buckets are armed:
/// place and cascade put an entry into a bucket; intake, wake, expire and cancel take it out; arm
/// and wake put a bucket into the delay heap and take it out of it. The only thing that is not told
/// is a push-back: it leaves the entry in its bucket, from where it is placed again. A flat wheel
/// has no heap and arms nothing, and an entry whose cancel was told stays in its slot, unseen,
/// until the worker's next tick; one that is placed at that very moment is told of afterwards.
struct TimerEvent {
    enum class Stage : std::uint8_t {
        schedule,  ///< accepted on the caller's thread
        intake,    ///< its deadline became a tick; `deadline` is set from here on. Again when it is
                   ///< rescheduled but not pushed back, and for the next run of a periodic one. A
                   ///< place follows unless it is due at once
        place,     ///< put into a bucket: `level`, `slot`, `expiration`. Again when that expired
                   ///< and it had been pushed back
        arm,       ///< that bucket was not in the delay heap and entered it; also after a cascade
        wake,      ///< the bucket left the delay heap and its entries were taken out (`entry` is
                   ///< null). One whose entries were all cancelled may leave it on the thread that
                   ///< schedules next. Of a flat wheel: a tick is walked
        cascade,   ///< an entry moved to a lower level: `fromLevel`, `level`, `slot`, `expiration`
        expire,    ///< its deadline was reached: it waits for its turn
        dispatch,  ///< handed to the executor
        run,       ///< its task ended: `time` is when it had begun, `lateness` how late that was,
                   ///< `duration` how long it took
        cancel,    ///< left without a run, or without a further one: see above
    };

    Stage stage;
    bool isPeriodic = false;
    std::uint32_t shard = 0;
    std::uint32_t level = 0;
    std::uint32_t slot = 0;
    std::uint32_t fromLevel = 0;
    /// Counts the events of this shard from 0 in the order in which they happened. Threads that
    /// make steps at the same time may tell of them in another.
    std::uint64_t number = 0;
    Tick deadline{};
    Tick expiration{};
    /// Which timeout: unique while it is pending. Equal to `TimerObserver::entryOf()` of its handle
    /// or hook. A hook may be scheduled again during its run, which is told of only when it ends.
    void const* entry = nullptr;
    Clock::TimePoint time{};
    std::chrono::nanoseconds lateness{};
    std::chrono::nanoseconds duration{};
};

/// Hears of every step. For looking into a timer, not for production loads: while one is set, each
/// operation records its steps and reads the clock; without one, each costs a branch.
///
/// Thread safety  called from the threads that made the steps, several at once, outside every lock.
///                It may ask the timer, schedule and cancel; it must not stop the timer or advance
///                its ManualClock, nor wait for who does: both wait for calls on other threads
/// Lifetime       must outlive the timer; handles and hooks that are used afterwards tell of
///                nothing. If a task destroys the timer, it also hears of the end of that run
/// Memory         the timer keeps an event until the lock is released under which it happened
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

}  // namespace v1
}  // namespace timingwheel
