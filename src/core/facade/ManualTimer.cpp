#include "core/driver/TimerCore.h"
#include "core/driver/run/RunFrame.h"

#include <timingwheel/ManualTimer.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel::inline v1 {

ManualTimer::ManualTimer(TimerOptions options)
    : WheelTimer{std::move(options), detail::DrivenBy::caller} {}

ManualTimer::~ManualTimer() { stopForGood(); }

std::optional<WheelTimer::TimePoint> ManualTimer::nextExpiration() const noexcept {
    return core().life().nextExpiration();
}

int ManualTimer::pollTimeout() const noexcept { return core().pollTimeout(); }

bool ManualTimer::advanceTo(TimePoint now, std::size_t atMost) {
    if (detail::RunFrame::isInside(core().context()))
        throw std::logic_error{"timer \"" + name() +
                               "\": advanceTo() was called from inside one of its tasks"};
    return core().advance(core().context().scale.nowToTick(now), core().boundsOf(atMost));
}

}  // namespace timingwheel::inline v1
