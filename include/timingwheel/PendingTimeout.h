#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Timeout.h>

#include <chrono>
#include <cstdint>

namespace timingwheel::inline v1 {

/// What `Timer::pending` shows of one timeout.
struct PendingTimeout {
    enum class Kind : std::uint8_t {
        once,        ///< a task that runs once
        fixedRate,   ///< scheduleAtFixedRate
        fixedDelay,  ///< scheduleWithFixedDelay
        series,      ///< scheduleAtTimes
        hook,        ///< a TimerHook, a sleep, or a stopAfter()
    };
    Kind kind = Kind::once;
    /// Rounded up to the timer's tick. max() means never.
    Clock::TimePoint deadline = {};
    /// For fixedRate and fixedDelay; otherwise 0.
    std::chrono::nanoseconds period{};
    /// What `tagged` was given; null if the task has no tag. For a hook, the address of its object,
    /// which may be gone.
    void const* tag = nullptr;
    /// A handle, to ask or to cancel; empty for a hook.
    Timeout timeout = {};
};

}  // namespace timingwheel::inline v1
