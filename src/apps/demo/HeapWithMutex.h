#pragma once

#include <timingwheel/TimerStatistics.h>

#include <chrono>

namespace demo {

/// What a call takes when several threads make them as fast as they can.
struct CallTimes {
    std::chrono::nanoseconds heap{};
    std::chrono::nanoseconds wheel{};
};

/// Gives a heap behind a mutex and a wheel the calls of a load, each for about `length`: with
/// as many pending timeouts and threads, schedules, cancels and push-backs in its proportions.
CallTimes measureCalls(timingwheel::TimerStatistics const& load, unsigned threads,
                       std::chrono::nanoseconds length);

}  // namespace demo
