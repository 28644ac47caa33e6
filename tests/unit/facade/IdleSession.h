#pragma once

#include <timingwheel/TimerHook.h>

namespace timingwheel::test {

/// Counts how often it was idle.
struct Session {
    void onIdle() { ++runs; }
    int runs = 0;
    TimerHook<&Session::onIdle> hook{*this};
};

}  // namespace timingwheel::test
