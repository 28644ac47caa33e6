#include "OfThisLibrary.h"
#include "compare/Loads.h"

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>

#include <chrono>

namespace timingwheel::bench {
namespace {

/// A ManualClock is a variable: reading it costs nothing, and what is left is the engine.
struct MakeManualTimer {
    ManualClock clock;
    ManualTimer operator()(std::chrono::nanoseconds tick) {
        return ManualTimer{{.tick = tick, .name = "compare", .clock = clock}};
    }
};

Registration const withHandles{
    {
        .id = "ManualTimer",
        .title = "ManualTimer",
        .usage = "handles; no lock, no thread, and no clock is read: a `ManualClock` that the load "
                 "moves by 1 ms for each thousand operations where deadlines are pushed back",
        .hasTick = true,
        .oneThread = true,
        .variant = true,
    },
    timerLoads<ByHandles<MakeManualTimer>>()};

Registration const withHooks{{
                                 .id = "ManualTimerHooks",
                                 .title = "ManualTimer, hooks",
                                 .usage = "the same with tasks that the user owns (`TimerHook`)",
                                 .hasTick = true,
                                 .oneThread = true,
                                 .variant = true,
                             },
                             timerLoads<ByHooks<MakeManualTimer>>()};

}  // namespace
}  // namespace timingwheel::bench
