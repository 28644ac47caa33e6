#include "LoopQueue.h"

#include <cstdint>
#include <uv.h>

namespace timingwheel::bench {
namespace {

class Libuv : public LoopQueue<uv_timer_t> {
public:
    explicit Libuv(Request const& request) : LoopQueue{request} {
        uv_loop_init(&loop_);
        loop_.data = this;
        for (Timer& timer : timers_) uv_timer_init(&loop_, &timer.handle);
    }
    ~Libuv() {
        for (Timer& timer : timers_) uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
        uv_run(&loop_, UV_RUN_DEFAULT);
        uv_loop_close(&loop_);
    }

    void schedule(std::size_t i, std::int64_t deadline) {
        auto const delay = static_cast<std::uint64_t>(deadline - now());
        uv_timer_start(&timers_[i].handle, &Libuv::onTimer, delay, 0);
    }
    // uv_timer_start stops a timer that is active; uv_timer_again is for repeating ones.
    void reschedule(std::size_t i, std::int64_t deadline) { schedule(i, deadline); }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        time_.moveTo(now);
        callWhenDue(due);
        uv_run(&loop_, UV_RUN_NOWAIT);
    }
    std::int64_t next() const {
        int const timeout = uv_backend_timeout(&loop_);
        return timeout < 0 ? -1 : now() + timeout;
    }

private:
    static void onTimer(uv_timer_t* handle) {
        static_cast<Libuv*>(handle->loop->data)->fired(handle);
    }

    uv_loop_t loop_{};
};

Registration const registration{
    {.id = "libuv",
     .title = "libuv",
     .usage = "`uv_timer_t` as a member of the timer, started again to reschedule; the "
              "loop runs with `UV_RUN_NOWAIT`, and `uv_backend_timeout` tells the next "
              "deadline",
     .largest = 1'000'000},
    queueLoads<Libuv>()};

}  // namespace
}  // namespace timingwheel::bench
