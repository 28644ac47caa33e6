// A number where a length of time should be.
// says: a length of time needs a unit: 30s
#include <timingwheel/SystemTimer.h>

void f(timingwheel::SystemTimer& timer) {
    timer.newTimeout([] {}, 30);
}
