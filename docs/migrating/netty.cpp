// What docs/migrating/netty.md shows of this library, under a clock that is moved by hand.

#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <cstdio>

using namespace std::chrono_literals;

namespace {

/// Either timer. The clock is this test's.
void request(timingwheel::Timer& timer, timingwheel::ManualClock& clock) {
    auto const giveUp = [] { std::puts("no answer"); };
    timingwheel::Timeout const timeout = timer.newTimeout(giveUp, 5s);
    timer.newTimeout(giveUp, 1s);
    timer.newTimeout(giveUp, 1h);
    clock.advance(2s);
    if (timeout.cancel()) std::puts("answered");
    clock.advance(1s);
    for (timingwheel::StoppedTimeout const& left : timer.stop())
        std::printf("left: %lld s\n", static_cast<long long>(left.remaining() / 1s));
}

}  // namespace

int main() {
    timingwheel::ManualClock clock;
    timingwheel::HashedWheelTimer flat{{.tick = 100ms, .ticksPerWheel = 512, .clock = clock}};
    request(flat, clock);
    timingwheel::SystemTimer levels{{.clock = clock}};
    request(levels, clock);
}
