#include "compare/Loads.h"

#include <ev.h>
#include <memory>
#include <mutex>
#include <thread>

namespace timingwheel::bench {
namespace {

/// What its documentation calls THREADS: a mutex around the loop, which a pair of callbacks
/// releases while the loop sleeps; whoever starts a timer holds it and calls ev_async_send(), so
/// that the loop looks again how long it may sleep. Tasks run under the mutex.
class LibevTimer {
    struct Entry {
        LibevTimer* owner;
        ev_timer timer{};
        Callback callback{};
    };
    struct Stop {
        void operator()(Entry* entry) const {
            entry->owner->stop(*entry);
            delete entry;
        }
    };

public:
    using Token = std::unique_ptr<Entry, Stop>;  // reused, as a member of a connection is
    static constexpr bool kFillInOrder = false;

    explicit LibevTimer(std::chrono::nanoseconds) : loop_{ev_loop_new(EVFLAG_AUTO)} {
        ev_init(&wakeUp_, [](struct ev_loop*, ev_async*, int) {});
        ev_async_start(loop_, &wakeUp_);
        ev_set_userdata(loop_, this);
        ev_set_loop_release_cb(
            loop_, [](struct ev_loop* loop) EV_NOEXCEPT { self(loop).mutex_.unlock(); },
            [](struct ev_loop* loop) EV_NOEXCEPT { self(loop).mutex_.lock(); });
        thread_ = std::thread{[this] {
            std::lock_guard const lock{mutex_};
            while (!stopped_) ev_run(loop_, EVRUN_ONCE);
        }};
    }
    ~LibevTimer() {
        {
            std::lock_guard const lock{mutex_};
            stopped_ = true;
            ev_async_send(loop_, &wakeUp_);
        }
        thread_.join();
        ev_loop_destroy(loop_);
    }
    LibevTimer(LibevTimer const&) = delete;
    LibevTimer& operator=(LibevTimer const&) = delete;

    void schedule(Token& token, std::chrono::nanoseconds delay, Callback callback) {
        if (!token) {
            token.reset(new Entry{this});
            ev_init(&token->timer, &LibevTimer::fire);
            token->timer.data = token.get();
        }
        std::lock_guard const lock{mutex_};
        token->callback = callback;
        start(*token, delay);
    }

    void cancel(Token& token) { stop(*token); }

    void reschedule(Token& token, std::chrono::nanoseconds delay) {
        std::lock_guard const lock{mutex_};
        ev_timer_stop(loop_, &token->timer);
        --pending_;
        start(*token, delay);
    }

    void settle() {}
    std::size_t pending() const {
        std::lock_guard const lock{mutex_};
        return pending_;
    }

private:
    static LibevTimer& self(struct ev_loop* loop) {
        return *static_cast<LibevTimer*>(ev_userdata(loop));
    }

    /// The delay counts from when the loop last read the clock, which may be long ago.
    void start(Entry& entry, std::chrono::nanoseconds delay) {
        double const seconds = std::chrono::duration<double>(delay).count();
        ev_timer_set(&entry.timer, seconds + (ev_time() - ev_now(loop_)), 0.);
        ev_timer_start(loop_, &entry.timer);
        ev_async_send(loop_, &wakeUp_);
        ++pending_;
    }

    void stop(Entry& entry) {
        std::lock_guard const lock{mutex_};
        if (!ev_is_active(&entry.timer)) return;
        ev_timer_stop(loop_, &entry.timer);
        --pending_;
    }

    static void fire(struct ev_loop* loop, ev_timer* timer, int) {
        --self(loop).pending_;
        static_cast<Entry*>(timer->data)->callback();
    }

    struct ev_loop* const loop_;
    ev_async wakeUp_{};
    mutable std::mutex mutex_;
    std::size_t pending_ = 0;
    bool stopped_ = false;
    std::thread thread_;
};

Registration const registration{
    {
        .id = "libev",
        .title = "libev",
        .usage =
            "a loop in one thread and a mutex around it, as its documentation has it under "
            "\"THREADS\": `ev_set_loop_release_cb()` lets go of the mutex while the loop sleeps, "
            "and "
            "whoever starts a timer calls `ev_async_send()`; `ev_timer` objects are used again",
        .largest = 1'000'000,
    },
    timerLoads<LibevTimer>()};

}  // namespace
}  // namespace timingwheel::bench
