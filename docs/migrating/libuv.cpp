// What docs/migrating/libevent-libuv.md shows of libuv: its timers, and ours in its loop.

#include <timingwheel/LoopTimer.h>

#include <chrono>
#include <cstdio>
#include <uv.h>

using namespace std::chrono_literals;

namespace {

namespace before {

struct Session {
    explicit Session(uv_loop_t& loop) {
        uv_timer_init(&loop, &idle);
        idle.data = this;
    }
    void onPacket() {
        auto const onIdle = [](uv_timer_t* timer) { static_cast<Session*>(timer->data)->close(); };
        uv_timer_start(&idle, onIdle, 20, 0);  // again: it is moved
    }
    void close() {
        std::puts("idle");
        auto const onClosed = [](uv_handle_t* timer) { delete static_cast<Session*>(timer->data); };
        uv_close(reinterpret_cast<uv_handle_t*>(&idle), onClosed);  // the loop still uses `idle`
    }

    uv_timer_t idle{};
};

void serve(uv_loop_t& loop) {
    auto* const session = new Session{loop};
    for (int packet = 0; packet < 3; ++packet) session->onPacket();
    uv_run(&loop, UV_RUN_DEFAULT);
}

}  // namespace before

namespace after {

struct Session {
    explicit Session(timingwheel::LoopTimer& itsTimer) : timer{itsTimer} {}
    void onPacket() { timer.schedule(idle, 20ms); }
    void close() {
        std::puts("idle");
        delete this;  // at once
    }

    timingwheel::LoopTimer& timer;
    timingwheel::TimerHook<&Session::close> idle{*this};
};

void serve(uv_loop_t& loop) {
    timingwheel::LoopTimer timer;
    uv_poll_t due;
    uv_poll_init(&loop, &due, timer.nativeHandle());
    due.data = &timer;
    uv_poll_start(&due, UV_READABLE, [](uv_poll_t* poll, int, int) {
        static_cast<timingwheel::LoopTimer*>(poll->data)->runDue();
    });

    auto* const session = new Session{timer};
    for (int packet = 0; packet < 3; ++packet) session->onPacket();
    while (timer.pendingTimeouts() > 0) uv_run(&loop, UV_RUN_ONCE);
    uv_close(reinterpret_cast<uv_handle_t*>(&due), nullptr);
    uv_run(&loop, UV_RUN_DEFAULT);  // until it is closed; then the timer closes its descriptor
}

}  // namespace after

}  // namespace

int main() {
    uv_loop_t loop;
    uv_loop_init(&loop);
    before::serve(loop);
    after::serve(loop);
    return uv_loop_close(&loop);
}
