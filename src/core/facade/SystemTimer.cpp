#include "core/driver/TimerCore.h"

#include <timingwheel/SystemTimer.h>

#include <utility>

namespace timingwheel::inline v1 {

SystemTimer::SystemTimer(TimerOptions options)
    : WheelTimer{std::move(options), detail::DrivenBy::thread} {}

SystemTimer::~SystemTimer() { stopForGood(); }

void SystemTimer::start() { core().life().start(); }

void SystemTimer::drain() { core().drain(); }

}  // namespace timingwheel::inline v1
