// When you know Netty's HashedWheelTimer and want the same here, or a program that runs on either
// timer, so that you can compare them under your own load.

#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <cstdio>
#include <memory>
#include <string>

using namespace std::chrono_literals;
using timingwheel::Timeout;

namespace {

// A task in Netty's form: an object that is also notified when it is cancelled.
class Request final : public timingwheel::TimerTask {
public:
    explicit Request(std::string name) : name_{std::move(name)} {}
    void run(Timeout const&) override { std::printf("  %s timed out\n", name_.c_str()); }
    void cancelled(Timeout const&) override { std::printf("  %s was answered\n", name_.c_str()); }

private:
    std::string name_;
};

// Runs on any timer.
void serve(timingwheel::Timer& timer, timingwheel::ManualClock& clock) {
    Timeout const fast = timer.newTimeout(std::make_shared<Request>("fast"), 5s);
    Timeout const slow = timer.newTimeout(std::make_shared<Request>("slow"), 5s);
    timer.newTimeout(
        [](Timeout const& self) { std::printf("  a callable, %d\n", self.isExpired()); }, 250ms);

    clock.advance(1s);
    if (fast.cancel()) std::puts("  in time");
    clock.advance(10s);
    std::printf("  slow: done %d, pending in the timer: %zu\n", slow.isDone(),
                timer.pendingTimeouts());
}

}  // namespace

int main() {
    timingwheel::ManualClock clock;

    std::puts("flat, 100 ms x 512: cancelled() is called at the next tick");
    timingwheel::HashedWheelTimer flat{{.tick = 100ms, .ticksPerWheel = 512, .clock = clock}};
    serve(flat, clock);

    std::puts("with levels, 1 ms x 20: cancelled() is called by cancel()");
    timingwheel::SystemTimer levels{{.clock = clock}};
    serve(levels, clock);

    // A pool for tasks that block: at most 100 wait, the rest runs where it is handed over.
    timingwheel::HashedWheelTimer pooled{
        {.tick = 10ms,
         .clock = clock,
         .taskPool = timingwheel::TaskPoolOptions{.threads = 2, .queueCapacity = 100}}};
    pooled.newTimeout([] { std::puts("on the pool"); }, 20ms);
    clock.advance(1s);  // returns when all that was due has run, on the pool too

    flat.newTimeout([] {}, 1h);
    std::printf("not run: %zu\n", flat.stop().size() + levels.stop().size() + pooled.stop().size());
}
