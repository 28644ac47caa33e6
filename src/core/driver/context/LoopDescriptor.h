#pragma once

#include "core/base/TimeArithmetic.h"
#include "core/base/platform/TimerDescriptor.h"
#include "core/driver/context/TimerClock.h"

#include <timingwheel/Clock.h>

#include <mutex>

namespace timingwheel::inline v1::detail {

/// The descriptor by which a LoopTimer calls its loop. It becomes readable when the loop must come.
///
/// No call is lost. The loop says under the lock until when it stays away, and sets the descriptor
/// in the same hold. A thread that schedules something earlier publishes it first: either the loop
/// sees it, or the thread calls onEarlier() after that hold.
///
/// Thread safety  any number of threads
class LoopDescriptor {
public:
    using TimePoint = Clock::TimePoint;

    explicit LoopDescriptor(TimerClock const& clock)
        : clock_{clock}, descriptor_{timeFor(clock.get().kind())} {}

    NativeHandle get() const noexcept { return descriptor_.get(); }

    /// When it becomes readable by the timer's clock; TimePoint::max() if never. For tests, while
    /// no other thread uses it.
    TimePoint setTo() const noexcept { return setTo_; }

    /// The loop must come at `expiration` already.
    void onEarlier(TimePoint expiration) noexcept {
        std::lock_guard const lock{mutex_};
        if (expiration < setTo_) set(expiration);
    }

    /// The loop has come, and will come again at `next()`, TimePoint::max() if never. No system
    /// call if the descriptor waits for that already.
    template <class Next>
    void stayAwayUntil(Next&& next) noexcept {
        std::lock_guard const lock{mutex_};
        TimePoint const expiration = next();
        if (expiration != setTo_ || hasFired() || descriptor_.followsSteps()) set(expiration);
    }

    void close() noexcept {
        std::lock_guard const lock{mutex_};
        descriptor_.close();
    }

private:
    /// The system's time that passes as a clock of that kind does.
    static TimerDescriptor::Follows timeFor(Clock::Kind kind) noexcept {
        using enum TimerDescriptor::Follows;
        if (kind == Clock::Kind::wall) return wallTime;
        return kind == Clock::Kind::continuous ? continuousTime : steadyClock;
    }
    void set(TimePoint expiration) noexcept {
        setTo_ = expiration;
        firesAt_ = timeOfDescriptor(expiration);
        descriptor_.set(firesAt_);
    }
    /// Under another clock: the time left by that clock, from now on.
    TimePoint timeOfDescriptor(TimePoint expiration) const noexcept {
        if (clock_.isSteady() || expiration == TimePoint::max()) return expiration;
        return timeAfter(descriptor_.now(), timeBetween(clock_.nowOrFrozen(), expiration));
    }
    bool hasFired() const noexcept {
        return firesAt_ != TimePoint::max() && firesAt_ <= descriptor_.now();
    }

    TimerClock const& clock_;
    std::mutex mutex_;  // protects what follows
    TimerDescriptor descriptor_;
    TimePoint setTo_ = TimePoint::max();
    TimePoint firesAt_ = TimePoint::max();
};

}  // namespace timingwheel::inline v1::detail
