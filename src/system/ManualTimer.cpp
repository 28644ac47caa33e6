#include "driver/RunFrame.h"
#include "driver/TimerCore.h"

#include <timingwheel/ManualTimer.h>

#include <algorithm>
#include <climits>
#include <stdexcept>
#include <string>
#include <utility>

namespace timingwheel {
inline namespace v1 {

namespace {

TimerOptions checked(TimerOptions options) {
    if (!options.executor.isInline())
        throw std::invalid_argument{
            "executor is set: it must be left out, a ManualTimer runs tasks "
            "in advanceTo"};
    if (options.threadFactory)
        throw std::invalid_argument{
            "threadFactory is set: it must be left out, a ManualTimer has "
            "no thread"};
    if (options.spin.count() != 0)
        throw std::invalid_argument{"spin is " + std::to_string(options.spin.count()) +
                                    " ns: it must be 0, a ManualTimer has no thread"};
    if (options.shards > 1)
        throw std::invalid_argument{"shards is " + std::to_string(options.shards) +
                                    ": it must be 0 or 1, a ManualTimer has one wheel"};
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
    auto const left = detail::TickScale::between(clock().now(), *expiration);
    if (left.count() <= 0) return 0;
    constexpr std::int64_t kMillisecond = 1'000'000;
    std::int64_t const milliseconds = (left.count() - 1) / kMillisecond + 1;
    return static_cast<int>(std::min<std::int64_t>(milliseconds, INT_MAX));
}

bool ManualTimer::advanceTo(TimePoint now, std::size_t atMost) {
    if (detail::RunFrame::isInside(core()))
        throw std::logic_error{"timer \"" + name() +
                               "\": advanceTo() was called from inside one of its tasks"};
    detail::RunFrame frame{core()};
    return core().runDue(core().scale.nowToTick(now), frame, atMost);
}

}  // namespace v1
}  // namespace timingwheel
