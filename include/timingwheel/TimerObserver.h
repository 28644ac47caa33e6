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
struct TimerEvent {
    enum class Stage : std::uint8_t {
        schedule,  ///< accepted on the caller's thread
        intake,    ///< its deadline became a tick; `deadline` is set from here on
        place,     ///< put into a bucket: `level`, `slot`, `expiration`
        arm,       ///< that bucket was empty and entered the delay heap
        wake,      ///< the bucket expired and its entries were taken out (`entry` is null); of a
                   ///< flat wheel: a tick is walked
        cascade,   ///< an entry moved to a lower level: `fromLevel`, `level`, `slot`, `expiration`
        expire,    ///< its deadline was reached: it waits for its turn
        dispatch,  ///< handed to the executor
        run,       ///< its task ended; `lateness` says how late it had begun
    };

    Stage stage;
    std::uint32_t shard = 0;
    std::uint32_t level = 0;
    std::uint32_t slot = 0;
    std::uint32_t fromLevel = 0;
    Tick deadline{};
    Tick expiration{};
    /// Which timeout: unique while it is pending. Equal to `TimerObserver::entryOf()` of its handle
    /// or hook.
    void const* entry = nullptr;
    Clock::TimePoint time{};
    std::chrono::nanoseconds lateness{};
};

/// Hears of every step. For looking into a timer, not for production loads: while one is set, each
/// operation records its steps and reads the clock; without one, each costs a branch.
///
/// Thread safety  called from the threads that made the steps, several at once, outside every lock
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
