#include "wheel/QueueLoads.h"
#include "wheel/VirtualTime.h"

#include <cstddef>
#include <cstdint>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <vector>

namespace timingwheel::bench {
namespace {

class Libevent {
public:
    explicit Libevent(Request const& request) : base_{event_base_new()}, timers_(request.count) {
        for (Timer& timer : timers_) event_assign(&timer.timer, base_, -1, 0, &onTimer, this);
    }
    ~Libevent() {
        for (Timer& timer : timers_) event_del(&timer.timer);
        event_base_free(base_);
    }
    Libevent(Libevent const&) = delete;
    Libevent& operator=(Libevent const&) = delete;

    std::int64_t now() const { return time_.now(); }
    void schedule(std::size_t i, std::int64_t deadline) {
        std::int64_t const delay = deadline - time_.now();
        timeval const after{delay / 1'000, delay % 1'000 * 1'000};
        event_add(&timers_[i].timer, &after);
    }
    void reschedule(std::size_t i, std::int64_t deadline) { schedule(i, deadline); }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        time_.moveTo(now);
        run(EVLOOP_NONBLOCK, due);
    }
    template <class Due>
    void jump(Due&& due) {
        run(EVLOOP_ONCE, due);
    }

private:
    struct Timer {
        struct event timer;
        Payload payload{};
    };

    template <class Due>
    void run(int flags, Due& due) {
        callback_.set(due);
        event_base_loop(base_, flags);
    }

    static void onTimer(evutil_socket_t, short, void* data) {
        auto* const self = static_cast<Libevent*>(data);
        // The event that runs is the first member of its timer.
        auto* const timer = reinterpret_cast<Timer*>(event_base_get_running_event(self->base_));
        self->callback_(static_cast<std::size_t>(timer - self->timers_.data()));
    }

    VirtualTime time_;
    event_base* base_;
    std::vector<Timer> timers_;
    DueCallback callback_;
};

Registration const registration{
    {.id = "libevent",
     .title = "libevent",
     .usage = "`struct event` as a member of the timer (`event_assign`), added again to "
              "reschedule; the loop runs with `EVLOOP_NONBLOCK`, for W3b and W5 with "
              "`EVLOOP_ONCE`, as nothing tells the next deadline. Common timeouts, its "
              "queues for many equal delays, are no help where delays differ",
     .largest = 1'000'000},
    queueLoads<Libevent>()};

}  // namespace
}  // namespace timingwheel::bench
