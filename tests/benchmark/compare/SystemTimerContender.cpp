#include "Loads.h"
#include "MakeSystemTimer.h"
#include "WheelContender.h"

namespace timingwheel::compare {
namespace {

Registration<WheelContender<MakeSystemTimer>> const registration{Description{
    .id = "SystemTimer",
    .title = "SystemTimer",
    .usage = "as it comes: levels of 20 slots, handles, tasks on its thread",
    .hasTick = true,
}};

}  // namespace
}  // namespace timingwheel::compare
