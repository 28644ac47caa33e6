#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/asio/detail/WaitQueue.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <cstddef>
#include <deque>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace timingwheel::inline v1 {
namespace asio::detail {

/// What use_timer() gives to the queue of a context. Asio makes that queue, and has no argument of
/// ours for it, so it stands here while it is made.
template <class Net>
struct GivenTimer {
    SystemTimer& timer;
    typename Net::Scheduler& scheduler;

    static GivenTimer const& get() {
        if (now == nullptr)
            throw std::logic_error{
                "timingwheel::asio::shared_timer: its context has no SystemTimer: call "
                "use_timer(context, timer) first"};
        return *now;
    }
    inline static thread_local GivenTimer const* now = nullptr;
};

struct Waker;

/// A timer's place in a SystemTimer, while somebody waits for it.
struct PlaceInShared {
    Waker* waker = nullptr;
};

/// A hook of the SystemTimer for the waits on one timer of Asio's.
struct Waker final : TimerHookBase {
    Waker(timingwheel::detail::HookOperations const& operations, void* of) noexcept
        : TimerHookBase{operations, this}, queue{of} {}

    void* queue;
    PlaceInShared* timer = nullptr;  // null if nobody waits
    Waker* nextFree = nullptr;
};
static_assert(sizeof(Waker) == 72 || sizeof(void*) != 8);

/// Which waits are due when: what Asio's reactor asks of a queue of timers, answered by a
/// SystemTimer that several contexts may share.
///
/// The timer's driver reports an expiry through the reactor's `cancel_timer`, called for `told_`, a
/// dummy timer. So Asio's own lock is held and Asio's own code hands the waits to the context.
///
/// A waker is used again, and lives as long as the queue. Therefore one whose expiry is on its way
/// may be left behind: it finds that nobody waits any more.
///
/// Thread safety  Asio calls with its reactor's lock held; the driver without
/// Errors         from enqueue_timer what WheelTimer::schedule throws; changes nothing
template <class Net, class Traits, class Queue>
class SharedQueue : public WaitQueue<Net, SharedQueue<Net, Traits, Queue>, PlaceInShared> {
    using Base = WaitQueue<Net, SharedQueue, PlaceInShared>;

public:
    using time_type = typename Traits::time_type;
    using duration_type = typename Traits::duration_type;
    using typename Base::Operations;
    using typename Base::per_timer_data;
    using typename Base::Wait;

    SharedQueue() : given_{GivenTimer<Net>::get()} {}

    /// Returns false: the reactor need not wake, the timer will.
    bool enqueue_timer(time_type const& time, per_timer_data& timer, Wait* wait) {
        if (timer.waits_.empty()) begin(timer, time);
        timer.waits_.push(wait);
        return false;
    }

    // The reactor has nothing to look for.
    bool empty() const override { return true; }
    long wait_duration_msec(long longest) const override { return longest; }
    long wait_duration_usec(long longest) const override { return longest; }
    void get_ready_timers(Operations&) override {}

    /// The context shuts down. Asio does not hold its lock here.
    void get_all_timers(Operations& all) override {
        {
            std::lock_guard const lock{telling_};
            isShutDown_ = true;
        }
        for (Waker& waker : wakers_) {
            if (waker.timer == nullptr) continue;
            all.push(timerOf(waker)->waits_);
            waker.timer = nullptr;  // its destructor cancels it
        }
    }

    std::size_t cancel_timer(per_timer_data& timer, Operations& ended,
                             std::size_t most = (std::numeric_limits<std::size_t>::max)()) {
        if (&timer != &told_) return Base::cancel_timer(timer, ended, most);
        if (per_timer_data* const over = timerOf(*toldBy_)) {
            while (isGivenUp_ && !over->waits_.empty()) Base::abortFirst(*over, ended);
            ended.push(over->waits_);
            toldBy_->timer = nullptr;
        }
        release(*toldBy_);
        return 0;
    }

    /// REQUIRES: nobody waits for the target.
    void move_timer(per_timer_data& target, per_timer_data& source) {
        if (source.waits_.empty()) return;
        target.waits_.push(source.waits_);
        target.waker = source.waker;
        target.waker->timer = &target;
    }

private:
    friend Base;

    static per_timer_data* timerOf(Waker const& waker) noexcept {
        return static_cast<per_timer_data*>(waker.timer);
    }

    void begin(per_timer_data& timer, time_type const& time) {
        if (firstFree_ == nullptr) release(wakers_.emplace_back(kOperations, this));
        Waker& waker = *firstFree_;
        given_.timer.schedule(
            waker, timingwheel::Clock::TimePoint{Duration{time.time_since_epoch()}.nanoseconds()});
        // The driver may be on its way already, and waits for the reactor's lock.
        firstFree_ = waker.nextFree;
        waker.timer = &timer;
        timer.waker = &waker;
    }

    void end(per_timer_data& timer) noexcept {
        Waker& waker = *timer.waker;
        waker.timer = nullptr;
        if (waker.cancel()) release(waker);
    }

    void release(Waker& waker) noexcept { waker.nextFree = std::exchange(firstFree_, &waker); }

    // On the driver's thread, or on that which stops the timer.
    static void expire(void* waker) { tell(*static_cast<Waker*>(waker), false); }
    static void giveUp(void* waker) { tell(*static_cast<Waker*>(waker), true); }
    static void tell(Waker& waker, bool isGivenUp) {
        static_cast<SharedQueue*>(waker.queue)->hear(waker, isGivenUp);
    }
    static constexpr timingwheel::detail::HookOperations kOperations{{true}, &expire, &giveUp};

    void hear(Waker& waker, bool isGivenUp) {
        std::lock_guard const lock{telling_};
        if (isShutDown_) return;
        toldBy_ = &waker;
        isGivenUp_ = isGivenUp;
        given_.scheduler.cancel_timer(static_cast<Queue&>(*this), told_, 0);
    }

    GivenTimer<Net> const given_;
    Waker* firstFree_ = nullptr;

    std::mutex telling_;  // protects what follows; taken before the reactor's lock
    bool isShutDown_ = false;
    bool isGivenUp_ = false;
    Waker* toldBy_ = nullptr;
    per_timer_data told_;

    std::deque<Waker> wakers_;  // the last: they wait for runs that have begun
};

}  // namespace asio::detail
}  // namespace timingwheel::inline v1
