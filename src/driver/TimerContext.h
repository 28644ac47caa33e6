#pragma once

#include "driver/Alarm.h"
#include "driver/RunRecorder.h"
#include "driver/StripedCounter.h"
#include "driver/TickScale.h"

#include <timingwheel/TimerOptions.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace timingwheel {
inline namespace v1 {

class Timer;

namespace detail {

/// What all parts of one timer share, and what keeps them in memory: the owner, the driver thread,
/// every claim, and every shard that has entries left hold a reference.
class TimerContext {
public:
    /// A timer has no more shards, whether the user says how many or the number of cores does.
    static constexpr std::size_t kMaxShards = 64;

    /// Throws std::invalid_argument that names the option, its value and the bound.
    TimerContext(TimerOptions timerOptions, bool concurrent);
    TimerContext(TimerContext const&) = delete;
    TimerContext& operator=(TimerContext const&) = delete;

    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    Clock::TimePoint now() const noexcept { return clock.now(); }

    /// The tick of a deadline: rounded up once, to a tick or to what the tolerance allows. Throws
    /// std::invalid_argument for a negative tolerance.
    Tick intake(Clock::TimePoint deadline, TimeoutOptions const& timeout) const;
    /// The same; a deadline that `now` has reached is due at once.
    Tick intake(Clock::TimePoint deadline, Clock::TimePoint now,
                TimeoutOptions const& timeout) const {
        Tick const tick = intake(deadline, timeout);
        return deadline <= now ? scale.nowToTick(now) : tick;
    }

    /// Takes a place under the limit of pending timeouts. Throws RejectedExecution if there is
    /// none.
    void takePlace();
    void givePlace() noexcept {
        if (options.maxPendingTimeouts != 0) places_.fetch_sub(1, std::memory_order_release);
    }

    /// Throws std::logic_error for a hook that is pending.
    [[noreturn]] void refuseScheduled() const;

    /// Among how many shards the threads are spread.
    std::size_t shards() const noexcept { return pushedBack.stripes(); }

    /// How many are taken. REQUIRES: there is a limit.
    std::size_t places() const noexcept { return places_.load(std::memory_order_acquire); }

    /// Tell the user's handlers. They are called outside every lock; what they throw is dropped.
    void reportFailure(TaskFailure failure) const noexcept;
    void reportSlow(SlowTask slow) const noexcept;

    /// For stop(): keeps the time, and waits for those who ask the clock. It may go afterwards.
    void freezeTime() noexcept;
    /// The clock's time, or when the timer stopped: for handles and hooks, which outlive it.
    Clock::TimePoint nowOrStopped() const noexcept;
    /// True after stop(). A task that still runs then has destroyed its own timer: clock and
    /// observer, which need not outlive that, may be gone.
    bool hasStopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

    TimerOptions const options;
    bool const isConcurrent;  ///< false: one thread at a time, locks are left out
    bool const isWatched;     ///< somebody hears of single runs
    Clock& clock;
    TickScale scale;          ///< not changed once something was accepted
    alignas(64) Alarm alarm;  // on a line of its own: the driver writes it at every sleep
    alignas(64) RunRecorder recorder;
    /// Push-backs that took no lock: a stripe for each shard.
    StripedCounter pushedBack;
    std::atomic<Timer*> owner{nullptr};
    std::atomic<std::uint64_t> refused{0};
    /// Claims that were handed out and have not ended.
    std::atomic<std::int64_t> claims{0};

protected:
    virtual ~TimerContext();

private:
    std::atomic<std::int64_t> references_{1};
    std::atomic<std::size_t> places_{0};
    bool const clockMayGo_;  // false: it is the steady one, which is never destroyed
    mutable std::atomic<int> clockAskers_{0};
    std::atomic<bool> stopped_{false};
    Clock::TimePoint stoppedAt_{};  // written before stopped_
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
