#include "Loads.h"
#include "WheelContender.h"

#include <timingwheel/SystemTimer.h>

namespace timingwheel::compare {
namespace {

struct MakeSystemTimer {
    SystemTimer operator()(std::chrono::nanoseconds tick) const {
        return SystemTimer{{.tick = tick, .name = "compare"}};
    }
};

Registration<WheelContender<MakeSystemTimer>> const registration{Description{
    .id = "SystemTimer",
    .title = "SystemTimer",
    .usage = "as it comes: levels of 20 slots, handles, tasks on its thread",
    .hasTick = true,
}};

}  // namespace
}  // namespace timingwheel::compare
