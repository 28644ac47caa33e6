#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace timingwheel::soak {

/// What is done to timers, as the table counts it.
enum class Operation : std::uint8_t {
    newTimeout,
    newTimeoutTolerant,
    newTimeoutDueAtOnce,
    newTimeoutFarOrNever,
    newTimeoutOfObject,
    newTimeoutOfWeak,
    newTimeoutThatThrows,
    newTimeoutWithPartner,
    newTimeoutThatHoldsItself,
    newTimeoutFromInside,
    refusedAtTheLimit,
    fixedRate,
    fixedDelay,
    hookSchedule,
    hookReschedule,
    hookRescheduleBatch,
    hookCancel,
    hookCancelAndWait,
    hookDestroy,
    hookScheduleFromInside,
    hookDestroyFromInside,
    scopedTimeout,
    cancel,
    cancelAndWait,
    cancelFromInside,
    reschedule,
    reschedulePeriodic,
    rescheduleFromInside,
    rescheduleOfAnotherTimer,
    askHandle,
    askHandleOfDeadTimer,
    statistics,
    pendingTimeouts,
    checkInvariants,
    start,
    moveClock,
    runDue,
    advanceTo,
    stop,
    drain,
    destroy,
    none,
};

inline constexpr std::size_t kOperations = static_cast<std::size_t>(Operation::none);

inline constexpr std::array<char const*, kOperations> kNamesOfOperations{
    "newTimeout, after a delay or at a deadline",
    "newTimeout with a tolerance",
    "newTimeout, zero, negative or past",
    "newTimeout, hours ahead or never",
    "newTimeout of a TimerTask object",
    "newTimeout of a weak_ptr",
    "newTimeout of a task that throws",
    "newTimeout of a task that moves another",
    "newTimeout of a task that drops its own handle",
    "newTimeout from inside a task",
    "newTimeout refused at the limit",
    "scheduleAtFixedRate",
    "scheduleWithFixedDelay",
    "schedule of a hook",
    "reschedule of a hook",
    "reschedule of a batch of hooks",
    "cancel of a hook",
    "cancelAndWait of a hook",
    "destructor of a hook",
    "schedule of a hook in its own run",
    "destructor of a hook in its own run",
    "ScopedTimeout",
    "cancel",
    "cancelAndWait",
    "cancel from inside a task",
    "reschedule",
    "reschedule of a periodic timeout",
    "reschedule from inside a task",
    "reschedule of another timer's timeout, refused",
    "questions to a handle",
    "questions to a handle whose timer is gone",
    "statistics",
    "pendingTimeouts",
    "checkInvariants",
    "start",
    "the clock moved forward or back",
    "runDue of a LoopTimer",
    "advanceTo of a ManualTimer",
    "stop",
    "drain",
    "destructor of a timer that was not stopped",
};

/// How often each was done. A thread has its own, but for the tasks, which share one.
class OperationCounts {
public:
    void add(Operation operation, std::uint64_t times = 1) noexcept {
        counts_[static_cast<std::size_t>(operation)].fetch_add(times, std::memory_order_relaxed);
    }
    std::uint64_t of(Operation operation) const noexcept {
        return counts_[static_cast<std::size_t>(operation)].load(std::memory_order_relaxed);
    }
    std::uint64_t sum() const noexcept {
        std::uint64_t sum = 0;
        for (auto const& count : counts_) sum += count.load(std::memory_order_relaxed);
        return sum;
    }
    OperationCounts& operator+=(OperationCounts const& other) noexcept {
        for (std::size_t i = 0; i < kOperations; ++i)
            add(static_cast<Operation>(i), other.of(static_cast<Operation>(i)));
        return *this;
    }

private:
    std::array<std::atomic<std::uint64_t>, kOperations> counts_{};
};

}  // namespace timingwheel::soak
