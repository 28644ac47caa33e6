#pragma once

#include "core/driver/context/DrivenBy.h"
#include "core/driver/context/DriverAlarm.h"
#include "core/driver/context/EventLog.h"
#include "core/driver/context/LoopDescriptor.h"
#include "core/driver/context/PendingLimit.h"
#include "core/driver/context/RunStatistics.h"
#include "core/driver/context/StripedCounter.h"
#include "core/driver/context/TaskReports.h"
#include "core/driver/context/TimerClock.h"
#include "core/timeout/TickScale.h"

#include <timingwheel/TimerOptions.h>
#include <timingwheel/detail/platform/CacheLine.h>
#include <timingwheel/wheel/LevelGeometry.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace timingwheel::inline v1 {

namespace detail {

/// What all parts of one timer share.
///
/// It also counts what keeps the timer's memory. These hold a reference: the owner, the driver
/// thread, every frame that runs tasks, every claim, and every keeper that has entries left.
class TimerContext {
public:
    /// The block of memory that this is a part of.
    class Whole {
    public:
        /// The last reference is gone.
        virtual void destroy() noexcept = 0;

    protected:
        ~Whole() = default;
    };

    /// The most shards that a timer has, whether the user or the number of cores decides.
    static constexpr std::size_t kMaxShards = 64;

    /// Throws std::invalid_argument that names the option, its value and the bound.
    TimerContext(TimerOptions timerOptions, DrivenBy driver, Whole& whole);
    TimerContext(TimerContext const&) = delete;
    TimerContext& operator=(TimerContext const&) = delete;

    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) whole_.destroy();
    }

    /// A claim was made. It holds a reference, and a clock that is set by hand waits for it.
    void addClaim() noexcept {
        claims_.fetch_add(1, std::memory_order_relaxed);
        retain();
    }
    /// A claim has run, or died.
    void endClaim() noexcept {
        if (claims_.fetch_sub(1, std::memory_order_acq_rel) == 1) alarm.notifyIdle();
        release();
    }
    bool hasClaims() const noexcept { return claims_.load(std::memory_order_acquire) != 0; }

    Clock::TimePoint now() const noexcept { return clock.now(); }
    Tick tickNow() const noexcept { return scale.nowToTick(now()); }

    /// Throws std::invalid_argument for a negative tolerance.
    static void checkTolerance(TimeoutOptions const& timeout);
    /// The tick of a deadline: rounded up once, to a tick or to what the tolerance allows. Throws
    /// std::invalid_argument for a negative tolerance.
    Tick intake(Clock::TimePoint deadline, TimeoutOptions const& timeout) const;
    /// The same, except that a deadline that `now` has reached is due at once.
    Tick intake(Clock::TimePoint deadline, Clock::TimePoint now,
                TimeoutOptions const& timeout) const {
        Tick const tick = intake(deadline, timeout);
        return deadline <= now ? scale.nowToTick(now) : tick;
    }

    /// The descriptor that calls the loop. REQUIRES: a loop drives.
    LoopDescriptor& descriptor() const noexcept { return *descriptor_; }

    /// Over how many shards the threads are spread.
    std::size_t shards() const noexcept { return pushedBack.stripes(); }

    /// Whether there is an observer.
    bool isObserved() const noexcept {
        return EventLog::kIsCompiled && options.observer != nullptr;
    }
    /// Whether each run is measured alone, for an observer or a threshold.
    bool isWatched() const noexcept { return isWatched_; }
    /// True after stop(). If a task still runs then, it has destroyed its own timer, and clock and
    /// observer may be gone.
    bool hasStopped() const noexcept { return clock.isFrozen(); }

    TimerOptions const options;
    DrivenBy const drivenBy;
    TimerClock clock;
    TickScale scale;  ///< does not change once something was accepted

private:
    bool const isWatched_;
    LevelGeometry const geometry_;  // of every shard's wheel
    std::unique_ptr<LoopDescriptor> const descriptor_;

public:
    // On lines of their own: the driver writes them at every sleep and every run.
    alignas(kCacheLine) DriverAlarm alarm;
    alignas(kCacheLine) RunStatistics runs;
    /// Push-backs that took no lock: a stripe for each shard. Callers read it, and the limit.
    alignas(kCacheLine) StripedCounter pushedBack;
    PendingLimit limit;
    TaskReports const reports;
    std::atomic<Timer*> owner{nullptr};

private:
    Tick withTolerance(Tick tick, TimeoutOptions const& timeout) const;

    std::atomic<std::int64_t> claims_{0};  // those that have not ended
    Whole& whole_;
    std::atomic<std::int64_t> references_{1};
};

/// Keeps a timer in memory while it lives: the user's code may destroy the timer meanwhile.
class KeptTimer {
public:
    explicit KeptTimer(TimerContext& context) noexcept : context_{context} { context_.retain(); }
    KeptTimer(KeptTimer const&) = delete;
    KeptTimer& operator=(KeptTimer const&) = delete;
    ~KeptTimer() { context_.release(); }

private:
    TimerContext& context_;
};

}  // namespace detail
}  // namespace timingwheel::inline v1
