#include "OfThisLibrary.h"
#include "compare/Loads.h"

#include <timingwheel/SystemTimer.h>

#include <chrono>

namespace timingwheel::bench {
namespace {

/// With its defaults, but for the spin.
template <int spinMicroseconds = 0>
struct MakeSystemTimer {
    SystemTimer operator()(std::chrono::nanoseconds tick) const {
        return SystemTimer{
            {.tick = tick, .name = "compare", .spin = std::chrono::microseconds{spinMicroseconds}}};
    }
};

Registration const withHandles{
    {
        .id = "SystemTimer",
        .title = "SystemTimer",
        .usage = "as it comes: levels of 20 slots, handles, tasks on its thread",
        .hasTick = true,
    },
    timerLoads<ByHandles<MakeSystemTimer<>>>()};

Registration const withHooks{
    {
        .id = "SystemTimerHooks",
        .title = "SystemTimer, hooks",
        .usage =
            "the same with tasks that the user owns (`TimerHook`): set once, scheduled many times",
        .hasTick = true,
        .variant = true,
    },
    timerLoads<ByHooks<MakeSystemTimer<>>>()};

Registration const spinning{
    {
        .id = "SystemTimerSpin",
        .title = "SystemTimer, spinning",
        .usage = "its thread wakes 200 µs before an expiration and spins until then "
                 "(`TimerOptions::spin`)",
        .hasTick = true,
        .variant = true,
    },
    timerLoads<ByHandles<MakeSystemTimer<200>>>()};

/// For ticks of 10 ms and more.
struct MakeCoarse {
    SystemTimer operator()(std::chrono::nanoseconds tick) const {
        return SystemTimer{{.tick = tick, .name = "compare", .coarseClock = true}};
    }
};

Registration const coarse{
    {
        .id = "SystemTimerCoarse",
        .title = "SystemTimer, coarse clock",
        .usage = "callers read the coarse clock (`TimerOptions::coarseClock`)",
        .hasTick = true,
        .variant = true,
    },
    timerLoads<ByHandles<MakeCoarse>>()};

Registration const coarseWithHooks{{
                                       .id = "SystemTimerHooksCoarse",
                                       .title = "SystemTimer, hooks, coarse clock",
                                       .usage = "the same with tasks that the user owns",
                                       .hasTick = true,
                                       .variant = true,
                                   },
                                   timerLoads<ByHooks<MakeCoarse>>()};

}  // namespace
}  // namespace timingwheel::bench
