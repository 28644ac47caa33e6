// What docs/migrating/libevent-libuv.md shows of libevent: its timers, and ours in its loop.

#include <timingwheel/LoopTimer.h>

#include <chrono>
#include <cstdio>
#include <event2/event.h>

using namespace std::chrono_literals;

namespace {

namespace before {

class Session {
public:
    explicit Session(event_base* base) : idle_{evtimer_new(base, onIdle, this)} {}
    Session(Session const&) = delete;
    Session& operator=(Session const&) = delete;
    ~Session() { event_free(idle_); }

    void onPacket() {
        timeval const delay{0, 20'000};
        evtimer_add(idle_, &delay);  // replaces the timeout
    }

private:
    static void onIdle(evutil_socket_t, short, void* session) {
        static_cast<Session*>(session)->close();
    }
    void close() { std::puts("idle"); }

    event* idle_;
};

void serve(event_base* base) {
    Session session{base};
    for (int packet = 0; packet < 3; ++packet) session.onPacket();
    event_base_dispatch(base);  // until no event is pending
}

}  // namespace before

namespace after {

class Session {
public:
    explicit Session(timingwheel::LoopTimer& timer) : timer_{timer} {}

    void onPacket() { timer_.schedule(idle_, 20ms); }

private:
    void close() { std::puts("idle"); }

    timingwheel::LoopTimer& timer_;
    timingwheel::TimerHook<&Session::close> idle_{*this};
};

void serve(event_base* base) {
    timingwheel::LoopTimer timer;
    auto const runDue = [](evutil_socket_t, short, void* it) {
        static_cast<timingwheel::LoopTimer*>(it)->runDue();
    };
    event* const due = event_new(base, timer.nativeHandle(), EV_READ | EV_PERSIST, runDue, &timer);
    event_add(due, nullptr);

    Session session{timer};
    for (int packet = 0; packet < 3; ++packet) session.onPacket();
    while (timer.pendingTimeouts() > 0) event_base_loop(base, EVLOOP_ONCE);
    event_free(due);  // before the timer closes its descriptor
}

}  // namespace after

}  // namespace

int main() {
    event_base* const base = event_base_new();
    before::serve(base);
    after::serve(base);
    event_base_free(base);
}
