#include "base/OptionChecks.h"
#include "driver/TimerCore.h"
#include "run/RunFrame.h"

#include <timingwheel/ManualTimer.h>

#include <algorithm>
#include <climits>
#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel {
inline namespace v1 {

namespace {

using detail::refuseOption;

TimerOptions checked(TimerOptions options) {
    if (!options.executor.isInline())
        refuseOption("executor", "set", "left out, a ManualTimer runs tasks in advanceTo");
    if (options.threadFactory)
        refuseOption("threadFactory", "set", "left out, a ManualTimer has no thread");
    if (options.spin.count() != 0)
        refuseOption("spin", std::to_string(options.spin.count()) + " ns",
                     "0, a ManualTimer has no thread");
    if (options.shards > 1)
        refuseOption("shards", std::to_string(options.shards),
                     "0 or 1, a ManualTimer has one wheel");
    return options;
}

}  // namespace

ManualTimer::ManualTimer(TimerOptions options)
    : WheelTimer{checked(std::move(options)), Threading::none} {}

ManualTimer::~ManualTimer() { stopForGood(); }

std::optional<WheelTimer::TimePoint> ManualTimer::nextExpiration() const noexcept {
    return core().nextExpiration();
}

int ManualTimer::pollTimeout() const noexcept {
    auto const expiration = nextExpiration();
    if (!expiration) return -1;
    auto const left = detail::timeBetween(clock().now(), *expiration);
    if (left.count() <= 0) return 0;
    constexpr std::int64_t kMillisecond = 1'000'000;
    std::int64_t const milliseconds = (left.count() - 1) / kMillisecond + 1;
    return static_cast<int>(std::min<std::int64_t>(milliseconds, INT_MAX));
}

bool ManualTimer::advanceTo(TimePoint now, std::size_t atMost) {
    if (detail::RunFrame::isInside(core().context()))
        throw std::logic_error{"timer \"" + name() +
                               "\": advanceTo() was called from inside one of its tasks"};
    return core().advance(core().context().scale.nowToTick(now), atMost);
}

}  // namespace v1
}  // namespace timingwheel
