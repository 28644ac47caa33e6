#include "OfThisLibrary.h"
#include "loads/TimerLoads.h"

#include <timingwheel/SystemTimer.h>

#include <chrono>

namespace timingwheel::bench {
namespace {

struct MakeSystemTimer {
    SystemTimer operator()(std::chrono::nanoseconds tick) const {
        return SystemTimer{{.tick = tick, .name = "compare"}};
    }
};

Registration const registration{{"SystemTimer", "SystemTimer", "as it comes, with handles"},
                                timerLoads<ByHandles<MakeSystemTimer>>()};
Registration const another{
    {"SystemTimerHooks", "SystemTimer, hooks", "with tasks that the user owns (`TimerHook`)"},
    timerLoads<ByHooks<MakeSystemTimer>>()};
Registration const batches{{"SystemTimerBatches", "SystemTimer, hooks by 32",
                            "hooks, 32 in each call of `schedule` and `cancel`"},
                           {{"curve", loads::curve<ByBatches<MakeSystemTimer>>}}};

}  // namespace
}  // namespace timingwheel::bench
