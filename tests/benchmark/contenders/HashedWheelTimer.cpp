#include "OfThisLibrary.h"
#include "loads/TimerLoads.h"

#include <timingwheel/HashedWheelTimer.h>

#include <latch>

namespace timingwheel::bench {
namespace {

struct MakeHashedWheelTimer {
    HashedWheelTimer operator()(std::chrono::nanoseconds tick) const {
        return HashedWheelTimer{
            {.tick = tick, .ticksPerWheel = 512, .name = "compare", .leakDetection = false}};
    }
};

class HashedWheelByHandles : public ByHandles<MakeHashedWheelTimer> {
public:
    using ByHandles::ByHandles;

    /// New ones come to the wheel in their order, after all that were cancelled have left it: when
    /// this has run, all is done.
    void settle() {
        std::latch reached{1};
        timer().newTimeout([&reached] { reached.count_down(); }, std::chrono::nanoseconds{0});
        reached.wait();
    }
};

Registration const registration{{"HashedWheelTimer", "HashedWheelTimer", "512 slots, handles"},
                                timerLoads<HashedWheelByHandles>()};

}  // namespace
}  // namespace timingwheel::bench
