#include "core/driver/TimerCore.h"

#include <timingwheel/LoopTimer.h>

#include <string>
#include <utility>

namespace timingwheel::inline v1 {

LoopTimer::LoopTimer(TimerOptions options)
    : WheelTimer{std::move(options), detail::DrivenBy::loop} {}

LoopTimer::~LoopTimer() {
    stopForGood();
    core().context().descriptor().close();
}

LoopTimer::NativeHandle LoopTimer::nativeHandle() const noexcept {
    return core().context().descriptor().get();
}

bool LoopTimer::runDue(std::size_t atMost) { return core().runDueInLoop(core().boundsOf(atMost)); }

std::optional<WheelTimer::TimePoint> LoopTimer::nextExpiration() const noexcept {
    return core().life().nextExpiration();
}

int LoopTimer::pollTimeout() const noexcept { return core().pollTimeout(); }

}  // namespace timingwheel::inline v1
