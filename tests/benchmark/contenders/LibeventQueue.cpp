#include "LoopQueue.h"

#include <cstdint>
#include <event2/event.h>
#include <event2/event_struct.h>

namespace timingwheel::bench {
namespace {

class Libevent : public LoopQueue<struct event> {
public:
    explicit Libevent(Request const& request) : LoopQueue{request} {
        for (Timer& timer : timers_) event_assign(&timer.handle, base_, -1, 0, &onTimer, this);
    }
    ~Libevent() {
        for (Timer& timer : timers_) event_del(&timer.handle);
        event_base_free(base_);
    }

    void schedule(std::size_t i, std::int64_t deadline) {
        std::int64_t const delay = deadline - now();
        timeval const after{delay / 1'000, delay % 1'000 * 1'000};
        event_add(&timers_[i].handle, &after);
    }
    void reschedule(std::size_t i, std::int64_t deadline) { schedule(i, deadline); }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        time_.moveTo(now);
        callWhenDue(due);
        event_base_loop(base_, EVLOOP_NONBLOCK);
    }
    template <class Due>
    void jump(Due&& due) {
        callWhenDue(due);
        event_base_loop(base_, EVLOOP_ONCE);
    }

private:
    static void onTimer(evutil_socket_t, short, void* data) {
        auto* const self = static_cast<Libevent*>(data);
        self->fired(event_base_get_running_event(self->base_));
    }

    event_base* const base_ = event_base_new();
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
