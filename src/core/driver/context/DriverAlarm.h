#pragma once

#include "core/base/TimeArithmetic.h"
#include "core/base/platform/Pause.h"
#include "core/driver/context/LoopDescriptor.h"
#include "core/timeout/TickScale.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>
#include <timingwheel/TimerOptions.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

namespace timingwheel::inline v1::detail {

/// How long the driver stays away, and how to call it earlier. A driver thread sleeps here. A
/// loop sleeps elsewhere; the alarm calls it by its descriptor.
///
/// No call is lost:
///
///   - The driver publishes until when it will stay away, then looks whether something is earlier,
///     and only then sleeps.
///   - A caller that schedules publishes the new expiration first, and then reads the driver's
///     time.
///   - Both are sequentially consistent, so one of the two sees the other.
///
/// Waking takes two locks and a system call. A caller pays it only if the driver would oversleep,
/// and only once: it writes its own time over the driver's.
class DriverAlarm {
public:
    /// For a driver thread, for a loop with a descriptor, or for neither. Under the steady clock
    /// the thread wakes `options.spin` before its time and busy-waits.
    DriverAlarm(TimerOptions const& options, bool hasThread, LoopDescriptor* loop,
                TickScale const& scale)
        : clock_{options.clock.get()},
          scale_{scale},
          loop_{loop},
          spin_{&clock_ == &Clock::steady() ? options.spin.nanoseconds()
                                            : std::chrono::nanoseconds{0}},
          until_{loop_ == nullptr ? kAwake : Tick::kMax},
          waiter_{hasThread ? clock_.makeWaiter() : nullptr} {
        if (hasThread && waiter_ == nullptr)
            throw std::invalid_argument{"timer \"" + options.name +
                                        "\": its clock's makeWaiter() returned null"};
    }

    /// Calls the driver if it would stay away beyond `expiration`.
    void ring(Tick expiration) noexcept {
        std::int64_t until = until_.load(std::memory_order_seq_cst);
        while (expiration.value() < until) {
            // That load is the caller's side of the rule. What is found later is newer still.
            if (until_.compare_exchange_weak(until, expiration.value(), std::memory_order_relaxed))
                return call(expiration);
        }
    }

    // For a loop.

    /// The loop stays away until `nextWake()`, and its descriptor calls it then. What is pending is
    /// never due before the time that it stayed away until: so while it is awake, a task schedules
    /// nothing earlier.
    template <class Next>
    void stayAwayUntil(Next&& nextWake) noexcept {
        loop_->stayAwayUntil([&] { return scale_.timeOf(publish(nextWake)); });
    }

    // For a driver thread.

    /// Wakes it.
    void wake() noexcept {
        {
            std::lock_guard const lock{mutex_};
            woken_ = true;
            if (!asleep_) return;
        }
        waiter_->wake();
    }

    /// Sleeps until `time`, when `tick` begins, or until woken. Does not sleep if it was woken
    /// since it last slept, or if `isEarlier(tick)` finds something due before.
    template <class IsEarlier>
    void sleep(Tick tick, Clock::TimePoint time, IsEarlier&& isEarlier) {
        until_.store(tick.value(), std::memory_order_seq_cst);
        if (!isEarlier(tick)) {
            if (!isWithinSpin(time)) rest(isNever(time) ? time : timeAfter(time, -spin_));
            while (isWithinSpin(time) && !isEarlier(tick)) pause();
        }
        until_.store(kAwake, std::memory_order_relaxed);
    }

    /// For a clock that is set by hand: waits until the driver sleeps and neither `isDue()` nor
    /// `isBusy()` is true. Wakes the driver while something is due. Returns at once if there is no
    /// driver.
    template <class IsDue, class IsBusy>
    void waitUntilIdle(IsDue&& isDue, IsBusy&& isBusy) {
        std::unique_lock lock{mutex_};
        ++watchers_;
        while (hasDriver_) {
            if (asleep_ && !woken_) {
                if (isDue()) {
                    woken_ = true;
                    lock.unlock();
                    waiter_->wake();
                    lock.lock();
                    continue;
                }
                if (!isBusy()) break;
            }
            rest_.wait(lock);
        }
        --watchers_;
    }

    /// Makes waitUntilIdle() look again.
    void notifyIdle() noexcept {
        std::lock_guard const lock{mutex_};
        if (watchers_ > 0) rest_.notify_all();
    }

    /// Says whether there is a driver.
    void setHasDriver(bool hasDriver) noexcept {
        std::lock_guard const lock{mutex_};
        hasDriver_ = hasDriver;
        rest_.notify_all();
    }

    std::uint64_t wakeUps() const noexcept { return wakeUps_.load(std::memory_order_relaxed); }

private:
    static constexpr std::int64_t kAwake = INT64_MIN;

    static bool isNever(Clock::TimePoint time) noexcept { return time == Clock::TimePoint::max(); }

    template <class Next>
    Tick publish(Next&& nextWake) noexcept {
        for (Tick until = nextWake(), wake = until;; until = wake) {
            until_.store(until.value(), std::memory_order_seq_cst);
            wake = nextWake();
            if (wake >= until) return until;
        }
    }

    void call(Tick expiration) noexcept {
        if (loop_ == nullptr) return wake();
        Clock::TimePoint const time = scale_.timeOf(expiration);
        if (!isNever(time)) loop_->onEarlier(time);
    }

    void rest(Clock::TimePoint time) {
        std::unique_lock lock{mutex_};
        if (!woken_) {
            asleep_ = true;
            if (watchers_ > 0) rest_.notify_all();
            lock.unlock();
            waiter_->waitUntil(time);
            lock.lock();
            asleep_ = false;
            wakeUps_.fetch_add(1, std::memory_order_relaxed);
        }
        woken_ = false;
    }

    bool isWithinSpin(Clock::TimePoint time) const noexcept {
        if (spin_ == std::chrono::nanoseconds{0}) return false;
        auto const left = timeBetween(clock_.now(), time);
        return left > std::chrono::nanoseconds{0} && left <= spin_;
    }

    Clock& clock_;
    TickScale const& scale_;
    LoopDescriptor* const loop_;
    std::chrono::nanoseconds const spin_;
    std::atomic<std::int64_t> until_;
    std::atomic<std::uint64_t> wakeUps_{0};
    std::unique_ptr<Clock::Waiter> const waiter_;

    std::mutex mutex_;  // protects what follows
    std::condition_variable rest_;
    int watchers_ = 0;
    bool woken_ = false;  // the waiter was woken, or need not be: the driver is awake
    bool asleep_ = false;
    bool hasDriver_ = false;
};

}  // namespace timingwheel::inline v1::detail
