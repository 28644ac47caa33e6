#pragma once

#include "core/base/platform/SystemSleeper.h"

#include <chrono>

#if defined(__linux__)
#    include <sys/timerfd.h>
#endif

namespace timingwheel::inline v1::detail {

/// The system's time of day, in nanoseconds since 1970 UTC. Anybody may set it.
class WallTime {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    static TimePoint now() noexcept {
        return TimePoint{std::chrono::system_clock::now().time_since_epoch()};
    }
};

#if defined(__linux__)
/// The kernel ends its sleep when the time is set.
class WallSleeper : public DescriptorSleeper {
public:
    WallSleeper() : DescriptorSleeper{CLOCK_REALTIME, TFD_TIMER_CANCEL_ON_SET} {}
};
#else
/// It looks each minute whether the time was set.
class WallSleeper : public LookingSleeper<WallTime> {
public:
    WallSleeper() : LookingSleeper{std::chrono::minutes{1}} {}
};
#endif

}  // namespace timingwheel::inline v1::detail
