#include "LoopQueue.h"

#include <cstdint>
#include <ev.h>

namespace timingwheel::bench {
namespace {

class Libev : public LoopQueue<ev_timer> {
public:
    explicit Libev(Request const& request) : LoopQueue{request} {
        ev_set_userdata(loop_, this);
        for (Timer& timer : timers_) ev_init(&timer.handle, &Libev::onTimer);
    }
    ~Libev() {
        for (Timer& timer : timers_) ev_timer_stop(loop_, &timer.handle);
        ev_loop_destroy(loop_);
    }

    // For one that is active, ev_timer_again only moves it in the heap. What repeats is set back,
    // so that it fires once.
    void schedule(std::size_t i, std::int64_t deadline) {
        ev_timer& watcher = timers_[i].handle;
        // It fires strictly after its deadline: half a tick less, and it is this tick's.
        watcher.repeat = (static_cast<double>(deadline - now()) - 0.5) / 1e3;
        ev_timer_again(loop_, &watcher);
        watcher.repeat = 0;
    }
    void reschedule(std::size_t i, std::int64_t deadline) { schedule(i, deadline); }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        time_.moveTo(now);
        callWhenDue(due);
        ev_run(loop_, EVRUN_NOWAIT);
    }
    template <class Due>
    void jump(Due&& due) {
        callWhenDue(due);
        ev_run(loop_, EVRUN_ONCE);
    }

private:
    static void onTimer(struct ev_loop* loop, ev_timer* watcher, int) {
        static_cast<Libev*>(ev_userdata(loop))->fired(watcher);
    }

    struct ev_loop* const loop_ = ev_loop_new(EVFLAG_AUTO);
};

Registration const registration{
    {.id = "libev",
     .title = "libev",
     .usage = "`ev_timer` as a member of the timer, rescheduled with `ev_timer_again`, "
              "which its manual calls the most efficient way; the loop runs with "
              "`EVRUN_NOWAIT`, for W3b and W5 with `EVRUN_ONCE`, as nothing tells the "
              "next deadline",
     .largest = 1'000'000},
    queueLoads<Libev>()};

}  // namespace
}  // namespace timingwheel::bench
