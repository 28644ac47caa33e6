#include <timingwheel/Executor.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

// A program to look into: gdb.sh stops it in look(), traced.sh counts the steps of its timeouts.

using namespace std::chrono_literals;

struct Session {
    void onIdle() {}
    timingwheel::TimerHook<&Session::onIdle> idle{*this};
};

struct World {
    timingwheel::ManualClock clock{timingwheel::Clock::TimePoint{10s}};
    timingwheel::ManualTimer timer{{.clock = clock}};
    timingwheel::Timeout none;
    timingwheel::Timeout expired = timer.newTimeout([] {}, 5ms);
    timingwheel::Timeout pending = timer.newTimeout([] {}, 1500ms);
    timingwheel::Timeout cancelled = timer.newTimeout([] {}, 25ms);
    Session session;
    Session unused;
    timingwheel::TimingWheel<timingwheel::TimerTaskEntry> wheel;
    std::vector<timingwheel::TimerTaskEntry> entries{4};
};

/// Runs each task at once, on the thread that dispatches it.
struct Immediately {
    void execute(timingwheel::Claim claim) { claim(); }
};

// Names that gdb finds, however this is optimised. One is of memory that holds no object.
World* world = nullptr;
alignas(World) unsigned char noise[sizeof(World)];
World* garbage = reinterpret_cast<World*>(noise);

[[gnu::noinline]] void look() { asm volatile("" ::: "memory"); }

/// What gdb prints. Times begin at 10 s.
void prepare(World& made) {
    world = &made;
    made.timer.schedule(made.session.idle, 30ms);
    made.timer.schedule(made.session.idle, 40ms);  // a push-back
    made.cancelled.cancel();
    made.clock.advance(7ms);
    made.timer.advanceTo(made.clock.now());
    timingwheel::Tick const deadlines[]{timingwheel::Tick{3}, timingwheel::Tick{9},
                                        timingwheel::Tick{25}, timingwheel::Tick{INT64_C(1) << 50}};
    for (std::size_t i = 0; i < 4; ++i)
        static_cast<void>(made.wheel.add(made.entries[i], deadlines[i]));
    std::memset(noise, 0x5A, sizeof noise);
}

int main() {
    auto const made = std::make_unique<World>();
    prepare(*made);
    look();

    // What bpftrace counts: on a thread, by the default clock, through an executor.
    Immediately executor;
    timingwheel::SystemTimer timer{{.executor = executor}};
    for (int i = 1; i <= 10; ++i) timer.newTimeout([] {}, i * 10ms);
    timer.newTimeout([] {}, 1h).cancel();
    timer.drain();
    timingwheel::HashedWheelTimer flat;
    flat.newTimeout([] {}, 1h).cancel();
    static_cast<void>(flat.stop());
    for (auto& entry : made->entries) made->wheel.cancel(entry);
    return 0;
}
