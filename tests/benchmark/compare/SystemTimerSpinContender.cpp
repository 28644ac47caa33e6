#include "Loads.h"
#include "WheelContender.h"

#include <timingwheel/SystemTimer.h>

#include <chrono>

namespace timingwheel::compare {
namespace {

struct MakeSpinningTimer {
    SystemTimer operator()(std::chrono::nanoseconds tick) const {
        return SystemTimer{
            {.tick = tick, .name = "compare", .spin = std::chrono::microseconds{200}}};
    }
};

Registration<WheelContender<MakeSpinningTimer>> const registration{Description{
    .id = "SystemTimerSpin",
    .title = "SystemTimer, spinning",
    .usage = "its thread wakes 200 µs before an expiration and spins until then "
             "(`TimerOptions::spin`)",
    .hasTick = true,
    .variant = true,
}};

}  // namespace
}  // namespace timingwheel::compare
