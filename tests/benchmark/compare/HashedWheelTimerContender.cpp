// The flat wheel takes part as soon as it exists.
#if __has_include(<timingwheel/HashedWheelTimer.h>)
#    include "Loads.h"
#    include "WheelContender.h"

#    include <timingwheel/HashedWheelTimer.h>

namespace timingwheel::compare {
namespace {

struct MakeHashedWheelTimer {
    HashedWheelTimer operator()(std::chrono::nanoseconds tick) const {
        return HashedWheelTimer{{.tick = tick, .ticksPerWheel = 512, .name = "compare"}};
    }
};

Registration<WheelContender<MakeHashedWheelTimer>> const registration{Description{
    .id = "HashedWheelTimer",
    .title = "HashedWheelTimer",
    .usage = "512 slots, handles, tasks on its thread",
    .hasTick = true,
}};

}  // namespace
}  // namespace timingwheel::compare
#endif
