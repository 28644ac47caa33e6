#pragma once

#include <timingwheel/TimerStatistics.h>

#include <chrono>

namespace demo {

/// What a call takes when several threads make them as fast as they can.
struct CallTimes {
    std::chrono::nanoseconds heap{};
    std::chrono::nanoseconds wheel{};
};

/// Gives a binary heap behind a mutex and a wheel the calls of a load, with as many threads and as
/// many pending timeouts: schedules, cancels and push-backs in its proportions. Each takes about
/// `length`.
CallTimes measureCalls(timingwheel::TimerStatistics const& load, unsigned threads,
                       std::chrono::nanoseconds length);

}  // namespace demo
