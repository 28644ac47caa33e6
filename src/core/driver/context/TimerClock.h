#pragma once

#include "core/base/RecentTime.h"
#include "core/base/TimeArithmetic.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>
#include <timingwheel/When.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// A timer's clock, and the time at which it was frozen. A clock other than the steady one may be
/// destroyed as soon as its timer has stopped, while hooks and handles outlive both.
///
/// Thread safety  any number of threads; freeze() once
class TimerClock {
public:
    /// Which reading callers count delays from.
    enum class Reading : std::uint8_t {
        exact,
        coarse,
        recent,  ///< the coarse one of the steady clock, where it has a recent time
    };

    /// Adds `margin` to each positive delay.
    TimerClock(Clock& clock, Reading callers, std::chrono::nanoseconds margin) noexcept
        : clock_{clock},
          mayGo_{&clock != &Clock::steady()},
          mayGoBack_{clock.kind() == Clock::Kind::wall},
          callers_{callers},
          margin_{margin} {}
    TimerClock(TimerClock const&) = delete;
    TimerClock& operator=(TimerClock const&) = delete;

    /// REQUIRES: not frozen yet, as for now(), callersNow() and after().
    Clock& get() const noexcept { return clock_; }
    bool isSteady() const noexcept { return !mayGo_; }
    /// True if the wheels must turn back when the clock does.
    bool mayGoBack() const noexcept { return mayGoBack_; }
    Clock::TimePoint now() const noexcept { return clock_.now(); }

    /// A caller's reading: now, or not long before.
    Clock::TimePoint callersNow() const noexcept {
        if (callers_ == Reading::recent) return SteadyTime::recent();
        return callers_ == Reading::exact ? clock_.now() : clock_.coarseNow();
    }
    /// A caller's reading, and the time point that is meant, or when the delay has passed since for
    /// sure. A delay that is not positive is over then.
    struct Delayed {
        Clock::TimePoint now;
        Clock::TimePoint deadline;
    };
    Delayed after(When when) const noexcept {
        Clock::TimePoint const now = callersNow();
        return {now, when.isTimePoint() ? when.timePoint() : after(now, when.delay())};
    }
    /// The same of a delay for a hook, whose timer may have stopped: `now` is when, then.
    Delayed afterOrFrozen(Duration delay) const noexcept {
        Clock::TimePoint const now = callersNowOrFrozen();
        return {now, after(now, delay)};
    }
    Clock::TimePoint callersNowOrFrozen() const noexcept {
        return unlessFrozen([this] { return callersNow(); });
    }

    /// For stop(): keeps the time, and waits for threads that are reading the clock. Afterwards the
    /// clock may be destroyed.
    void freeze() noexcept;
    /// The time, or the time at which the clock was frozen.
    Clock::TimePoint nowOrFrozen() const noexcept {
        return unlessFrozen([this] { return now(); });
    }
    bool isFrozen() const noexcept { return isFrozen_.load(std::memory_order_acquire); }

private:
    Clock::TimePoint after(Clock::TimePoint now, Duration delay) const noexcept {
        Clock::TimePoint const deadline = timeAfter(now, delay.nanoseconds());
        return delay.count() > 0 ? timeAfter(deadline, margin_) : deadline;
    }
    template <class Read>
    Clock::TimePoint unlessFrozen(Read&& read) const noexcept {
        if (!mayGo_) return isFrozen() ? frozenAt_ : read();
        // Count first, then look whether it is frozen: freeze() does the reverse, so one of the two
        // sees the other.
        askers_.fetch_add(1, std::memory_order_seq_cst);
        bool const mayAsk = !isFrozen_.load(std::memory_order_seq_cst);
        Clock::TimePoint const time = mayAsk ? read() : frozenAt_;
        askers_.fetch_sub(1, std::memory_order_release);
        return time;
    }

    Clock& clock_;
    bool const mayGo_;
    bool const mayGoBack_;
    Reading const callers_;
    std::chrono::nanoseconds const margin_;
    mutable std::atomic<int> askers_{0};
    std::atomic<bool> isFrozen_{false};
    Clock::TimePoint frozenAt_{};  // written before isFrozen_
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
