#pragma once

#include <timingwheel/SystemTimer.h>

#include <chrono>

namespace timingwheel::compare {

/// With its defaults.
struct MakeSystemTimer {
    SystemTimer operator()(std::chrono::nanoseconds tick) const {
        return SystemTimer{{.tick = tick, .name = "compare"}};
    }
};

}  // namespace timingwheel::compare
