#pragma once

#include <timingwheel/Tick.h>
#include <timingwheel/asio/detail/WaitQueue.h>
#include <timingwheel/wheel/TimerTaskEntry.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <boost/intrusive/list.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace timingwheel::inline v1 {
namespace asio::detail {

/// A timer's place in a wheel.
class PlaceInWheel : public TimerTaskEntry {
    template <class, class, class>
    friend class WheelQueue;
    bool isDue_ = false;
};

/// Which waits are due when: what Asio's reactor asks of a queue of timers, answered by a wheel.
///
/// A timer is in the wheel, or among those that were due when their wait began, exactly while
/// somebody waits for it.
///
/// Thread safety  Asio calls with its reactor's lock held
/// Errors         std::bad_alloc from enqueue_timer if a level cannot be built; changes nothing
template <class Net, class Traits, class TickLength>
class WheelQueue : public WaitQueue<Net, WheelQueue<Net, Traits, TickLength>, PlaceInWheel> {
    using Base = WaitQueue<Net, WheelQueue, PlaceInWheel>;

public:
    using time_type = typename Traits::time_type;
    using duration_type = typename Traits::duration_type;
    using typename Base::Operations;
    using typename Base::per_timer_data;
    using typename Base::Wait;

    WheelQueue()
        : wheel_{std::make_unique<Wheel>(TimingWheelOptions{.start = nowToTick(Traits::now())})} {}

    /// Returns true if the reactor has to look again how long it may sleep.
    bool enqueue_timer(time_type const& time, per_timer_data& timer, Wait* wait) {
        bool const isEarliest = timer.waits_.empty() && begin(timer, deadlineToTick(time));
        timer.waits_.push(wait);
        return isEarliest;
    }

    bool empty() const override { return waiting_ == 0; }

    long wait_duration_msec(long longest) const override { return sleep(longest, 1'000); }
    long wait_duration_usec(long longest) const override { return sleep(longest, 1); }

    void get_ready_timers(Operations& ready) override {
        Tick const now = nowToTick(Traits::now());
        if (wasSetBack(now) && !rebuild(now)) return;
        takeDue(ready);
        advanceTo(now, ready);
    }

    void get_all_timers(Operations& all) override {
        takeDue(all);
        while (TimerTaskEntry* const entry = wheel_->raw().takeAny())
            all.push(static_cast<per_timer_data*>(entry)->waits_);
        waiting_ = 0;
    }

    /// REQUIRES: nobody waits for the target.
    void move_timer(per_timer_data& target, per_timer_data& source) {
        if (source.waits_.empty()) return;
        end(source);
        target.waits_.push(source.waits_);
        begin(target, source.deadline());
    }

private:
    friend Base;

    using Wheel = TimingWheel<per_timer_data>;
    using DueTimers =
        boost::intrusive::list<per_timer_data,
                               boost::intrusive::base_hook<timingwheel::detail::TimerTaskLinks>,
                               boost::intrusive::constant_time_size<false>>;
    using Rep = typename duration_type::rep;
    static_assert(std::is_integral_v<Rep>, "a clock that counts in whole numbers");
    static constexpr Rep kTick = std::chrono::duration_cast<duration_type>(TickLength{1}).count();
    static constexpr std::size_t kMostTaken =
        512;  // out of their buckets, in a turn of the reactor
    static_assert(kTick >= 1, "a tick is at least the clock's own step");
    static_assert(TickLength{1} >= std::chrono::nanoseconds{16},
                  "a tick has 60 bits: with less than 16 ns they do not reach to the clock's end");

    /// The last tick that is over at `time`.
    static Tick nowToTick(time_type time) noexcept {
        Rep const count = time.time_since_epoch().count();
        return Tick{count / kTick - (count % kTick < 0 ? 1 : 0)};
    }
    /// The first tick that is not before `time`: nothing is early.
    static Tick deadlineToTick(time_type time) noexcept {
        Rep const count = time.time_since_epoch().count();
        return Tick{count / kTick + (count % kTick > 0 ? 1 : 0)};
    }
    static time_type timeOf(Tick tick) noexcept {
        if (tick.value() > (std::numeric_limits<Rep>::max)() / kTick) return (time_type::max)();
        return time_type{duration_type{static_cast<Rep>(tick.value()) * kTick}};
    }

    /// Leaves the rest of a crowded bucket for the next call: sockets have their turn in between.
    void advanceTo(Tick now, Operations& ready) {
        RawTimingWheel& wheel = wheel_->raw();
        if (wheel.advanceQuietly(now)) return;
        for (std::size_t left = kMostTaken; left > 0 && (wheel.hasFlushed() || wheel.flush(now));) {
            while (TimerTaskEntry* const due = wheel.nextDue(left)) {
                --waiting_;
                ready.push(static_cast<per_timer_data*>(due)->waits_);
            }
        }
        wheel.advanceClock(now);
    }

    /// A wall clock may be set back. A steady one need not be looked at.
    bool wasSetBack(Tick now) const noexcept {
        return !Traits::clock_type::is_steady && now < wheel_->currentTick();
    }

    bool begin(per_timer_data& timer, Tick deadline) {
        // The reactor sleeps on then, whatever buckets are still armed.
        bool const wasEmpty = empty();
        Tick const now = nowToTick(Traits::now());
        if (wasSetBack(now)) rebuild(now);
        // Else the wheel would have stood still since the last expiry: a wake-up for nothing.
        if (!wheel_->raw().advanceQuietly(now)) wheel_->raw().advanceClock(now);
        wheel_->raw().reserve(deadline);
        timer.setDeadline(deadline);
        ++waiting_;
        return place(timer) || wasEmpty;
    }

    bool place(per_timer_data& timer) noexcept {
        Placement const placement = wheel_->raw().place(timer);
        timer.isDue_ = placement.isDue();
        if (timer.isDue_) due_.push_back(timer);
        return placement.isDue() || placement.isEarliest();
    }

    void end(per_timer_data& timer) noexcept {
        --waiting_;
        if (timer.isDue_)
            due_.erase(due_.iterator_to(timer));
        else
            wheel_->cancel(timer);
    }

    void takeDue(Operations& ready) {
        while (!due_.empty()) {
            --waiting_;
            ready.push(due_.front().waits_);
            due_.pop_front();
        }
    }

    /// In units of `unit` microseconds, rounded up: a wake-up too early would find nothing.
    long sleep(long longest, long unit) const {
        if (!due_.empty() || wheel_->raw().hasFlushed()) return 0;
        if (empty()) return longest;
        auto const left = Traits::to_posix_duration(
            Traits::subtract(timeOf(*wheel_->nextExpiration()), Traits::now()));
        if (left.ticks() <= 0) return 0;
        std::int64_t const units = left.total_microseconds() / unit;
        return units >= longest ? longest : static_cast<long>(units) + 1;
    }

    /// A wheel's clock does not go back: all wait in a new one. Without memory for it they wait in
    /// the old one until the next try, and this returns false.
    bool rebuild(Tick now) noexcept try {
        auto fresh = std::make_unique<Wheel>(TimingWheelOptions{.start = now});
        fresh->raw().reserve(wheel_->raw().reach() + -1);
        DueTimers due;
        due.swap(due_);
        std::swap(wheel_, fresh);
        while (!due.empty()) {
            per_timer_data& timer = due.front();
            due.pop_front();
            place(timer);
        }
        while (TimerTaskEntry* const entry = fresh->raw().takeAny())
            place(static_cast<per_timer_data&>(*entry));
        return true;
    } catch (std::bad_alloc const&) {
        return false;
    }

    std::unique_ptr<Wheel> wheel_;
    DueTimers due_;
    std::size_t waiting_ = 0;  // in either
};

}  // namespace asio::detail
}  // namespace timingwheel::inline v1
