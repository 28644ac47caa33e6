#include "wheel/QueueLoads.h"
#include "wheel/VirtualTime.h"

#include <cstddef>
#include <cstdint>
#include <ev.h>
#include <vector>

namespace timingwheel::bench {
namespace {

class Libev {
public:
    explicit Libev(Request const& request)
        : loop_{ev_loop_new(EVFLAG_AUTO)}, timers_(request.count) {
        ev_set_userdata(loop_, this);
        for (Timer& timer : timers_) ev_init(&timer.watcher, &Libev::onTimer);
    }
    ~Libev() {
        for (Timer& timer : timers_) ev_timer_stop(loop_, &timer.watcher);
        ev_loop_destroy(loop_);
    }
    Libev(Libev const&) = delete;
    Libev& operator=(Libev const&) = delete;

    std::int64_t now() const { return time_.now(); }
    // For one that is active, ev_timer_again only moves it in the heap. What repeats is set back,
    // so that it fires once.
    void schedule(std::size_t i, std::int64_t deadline) {
        ev_timer& watcher = timers_[i].watcher;
        // It fires strictly after its deadline: half a tick less, and it is this tick's.
        watcher.repeat = (static_cast<double>(deadline - time_.now()) - 0.5) / 1e3;
        ev_timer_again(loop_, &watcher);
        watcher.repeat = 0;
    }
    void reschedule(std::size_t i, std::int64_t deadline) { schedule(i, deadline); }
    template <class Due>
    void advanceTo(std::int64_t now, Due&& due) {
        time_.moveTo(now);
        run(EVRUN_NOWAIT, due);
    }
    template <class Due>
    void jump(Due&& due) {
        run(EVRUN_ONCE, due);
    }

private:
    struct Timer {
        ev_timer watcher;
        Payload payload{};
    };

    template <class Due>
    void run(int flags, Due& due) {
        callback_.set(due);
        ev_run(loop_, flags);
    }

    static void onTimer(struct ev_loop* loop, ev_timer* watcher, int) {
        auto* const self = static_cast<Libev*>(ev_userdata(loop));
        auto* const timer = reinterpret_cast<Timer*>(watcher);  // its first member
        self->callback_(static_cast<std::size_t>(timer - self->timers_.data()));
    }

    VirtualTime time_;
    struct ev_loop* loop_;
    std::vector<Timer> timers_;
    DueCallback callback_;
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
