#include "loads/TimerLoads.h"

#include <event2/event.h>
#include <event2/thread.h>
#include <memory>
#include <new>
#include <thread>

namespace timingwheel::bench {
namespace {

/// After evthread_use_pthreads() every function may be called from any thread: the base has a lock
/// and wakes its loop where that is needed.
class LibeventTimer {
    struct Free {
        void operator()(event* freed) const { event_free(freed); }
        void operator()(event_base* freed) const { event_base_free(freed); }
    };
    struct Entry {
        explicit Entry(event_base* base) : timer{evtimer_new(base, &LibeventTimer::fire, this)} {
            if (!timer) throw std::bad_alloc{};
        }
        Callback callback{};
        std::unique_ptr<event, Free> timer;
    };

public:
    using Token = std::unique_ptr<Entry>;  // reused, as a member of a connection is
    explicit LibeventTimer(std::chrono::nanoseconds) {
        base_.reset(event_base_new());
        thread_ = std::thread{[this] { event_base_loop(base_.get(), EVLOOP_NO_EXIT_ON_EMPTY); }};
    }
    ~LibeventTimer() {
        event_base_loopexit(base_.get(), nullptr);
        thread_.join();
    }
    LibeventTimer(LibeventTimer const&) = delete;
    LibeventTimer& operator=(LibeventTimer const&) = delete;

    void schedule(Token& token, std::chrono::nanoseconds delay, Callback callback) {
        if (!token) token = std::make_unique<Entry>(base_.get());
        token->callback = callback;
        reschedule(token, delay);
    }
    void cancel(Token& token) { evtimer_del(token->timer.get()); }

    /// Added again, a pending one has its timeout replaced.
    void reschedule(Token& token, std::chrono::nanoseconds delay) {
        auto const microseconds =
            std::max(std::chrono::ceil<std::chrono::microseconds>(delay).count(), std::int64_t{0});
        timeval const timeout{microseconds / 1'000'000, microseconds % 1'000'000};
        evtimer_add(token->timer.get(), &timeout);
    }

    void settle() {}
    std::size_t pending() const {
        int const added = event_base_get_num_events(base_.get(), EVENT_BASE_COUNT_ADDED);
        return static_cast<std::size_t>(added);
    }

private:
    static void fire(evutil_socket_t, short, void* entry) {
        static_cast<Entry*>(entry)->callback();
    }

    /// Before the first base is made.
    static inline bool const threads_ = evthread_use_pthreads() == 0;

    std::unique_ptr<event_base, Free> base_;
    std::thread thread_;
};

Registration const registration{{"libevent", "libevent",
                                 "a base with `evthread_use_pthreads()` in one thread; events are "
                                 "used again; its default clock",
                                 1'000'000},
                                timerLoads<LibeventTimer>()};

}  // namespace
}  // namespace timingwheel::bench
