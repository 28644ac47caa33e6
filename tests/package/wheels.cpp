// A stranger's program that uses the wheels without timers, as on a machine of 32 bits.
#include <timingwheel/wheel/HashedWheel.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>

namespace {

struct Lease : timingwheel::TimerTaskEntry {};

/// Deadlines on all levels, and after many turns: each is handed over at its tick.
template <class Wheel>
bool handsOverEach(Wheel& wheel) {
    std::deque<Lease> leases(1'000);
    std::int64_t deadline = 0;
    for (Lease& lease : leases)
        if (wheel.add(lease, timingwheel::Tick{deadline += 999}).isDue()) return false;
    std::size_t onTime = 0;
    for (std::int64_t tick = 1; tick <= deadline; ++tick)
        wheel.advanceTo(timingwheel::Tick{tick}, [&](Lease& lease) {
            onTime += lease.deadline() == timingwheel::Tick{tick} ? 1U : 0U;
        });
    return onTime == leases.size() && wheel.empty();
}

}  // namespace

int main() {
    timingwheel::TimingWheel<Lease> levels{{.wheelSize = 20}};
    timingwheel::HashedWheel<Lease> flat{{.ticksPerWheel = 512}};
    bool const isRight = handsOverEach(levels) && handsOverEach(flat);
    std::printf("%s: each lease on its tick, with pointers of %zu bits\n", isRight ? "ok" : "WRONG",
                8 * sizeof(void*));
    return isRight ? 0 : 1;
}
