#pragma once

#include "apps/demo/Drawing.h"
#include "apps/demo/Occupancy.h"
#include "apps/demo/Options.h"
#include "apps/terminal/Screen.h"
#include "apps/terminal/Terminal.h"

#include <timingwheel/TimerStatistics.h>

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

namespace demo {

/// The levels of the wheel as they are now: on a terminal all of it, ten times a second; elsewhere
/// lines, once a second.
class Watch {
public:
    /// How often to call show(). Not every 100 ms: after five whole turns of 20 ms, the hand of the
    /// finest level would seem to stand.
    static constexpr std::chrono::milliseconds kEvery{103};

    Watch(Options const& options, Occupancy const& occupancy, Terminal& terminal, TimePoint begin);

    /// The last time gives the terminal back, with the last picture on it.
    void show(timingwheel::TimerStatistics const& now, bool isLast);

private:
    struct Reading {
        TimePoint time;
        timingwheel::TimerStatistics statistics;
    };

    void addLevels(Picture& picture, TimePoint time);
    void addRates(Picture& picture, timingwheel::TimerStatistics const& now, TimePoint time);

    Options const& options_;
    Occupancy const& occupancy_;
    Terminal& terminal_;
    TimePoint begin_;
    TimePoint nextPrint_;
    std::deque<Reading> readings_;  // of the last second
    std::vector<double> fullest_;   // of each level: sinks slowly, so that bars do not jump
    std::unique_ptr<Screen> screen_;
};

}  // namespace demo
