// What docs/migrating/folly.md shows of this library, under a clock that is moved by hand.

#include <timingwheel/LoopTimer.h>
#include <timingwheel/ManualClock.h>

#include <cstdio>

using namespace std::chrono_literals;

namespace {

class Session {
public:
    explicit Session(timingwheel::LoopTimer& timer) : timer_{timer} {}

    void onPacket() { timer_.schedule(idle_, 60s); }
    bool end() { return idle_.cancel(); }

private:
    void onIdle() { std::puts("idle"); }

    timingwheel::LoopTimer& timer_;
    timingwheel::TimerHook<&Session::onIdle> idle_{*this};  // the last member
};

}  // namespace

int main() {
    timingwheel::ManualClock clock;
    timingwheel::LoopTimer timer{{.tick = 10ms, .clock = clock}};
    Session idle{timer}, ended{timer}, dropped{timer};
    idle.onPacket();
    ended.onPacket();
    clock.advance(59s);
    idle.onPacket();
    std::printf("ended in time: %d\n", ended.end());
    clock.advance(60s);
    dropped.onPacket();
    std::printf("cancelled together: %zu\n", timer.cancelAll());
    clock.advance(60s);
}
