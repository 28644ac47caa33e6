#include "Loads.h"
#include "MakeSystemTimer.h"
#include "WheelContender.h"

namespace timingwheel::compare {
namespace {

Registration<HookContender<MakeSystemTimer>> const registration{Description{
    .id = "SystemTimerHooks",
    .title = "SystemTimer, hooks",
    .usage = "the same with tasks that the user owns (`TimerHook`): set once, scheduled many times",
    .hasTick = true,
    .variant = true,
}};

}  // namespace
}  // namespace timingwheel::compare
