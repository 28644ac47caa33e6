#pragma once

#include <timingwheel/TimerStatistics.h>

#include <chrono>

namespace demo {

/// What a call takes when several threads make them as fast as they can.
struct CallTimes {
    std::chrono::nanoseconds heap{};
    std::chrono::nanoseconds wheel{};
};

/// Gives a binary heap behind a mutex and a wheel the calls of a load: as many pending timeouts;
/// schedules, cancels and push-backs in its proportions; as many threads. Each takes about `length`.
CallTimes measureCalls(timingwheel::TimerStatistics const& load, unsigned threads,
                       std::chrono::nanoseconds length);

}  // namespace demo
