// An entry whose deadline is over is lost: neither stored nor run.
// says: an entry that is due was not stored
// options: -std=c++20 -Wall
#include <timingwheel/wheel/TimingWheel.h>

struct Lease : timingwheel::TimerTaskEntry {};

void f(timingwheel::TimingWheel<Lease>& wheel, Lease& lease) {
    wheel.add(lease, timingwheel::Tick{25});
}
