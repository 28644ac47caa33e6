#pragma once

#include "apps/demo/Terminal.h"
#include "apps/demo/TimePoint.h"

#include <timingwheel/TimerStatistics.h>

#include <chrono>
#include <string>

namespace demo {

/// A table that grows by a row every second or so; on a terminal its last row is live.
class Progress {
public:
    /// How often to call show().
    static constexpr std::chrono::milliseconds kEvery{100};

    Progress(Terminal& terminal, TimePoint begin, std::chrono::nanoseconds duration);

    void show(timingwheel::TimerStatistics const& now);
    void finish(timingwheel::TimerStatistics const& now);

private:
    std::string row(timingwheel::TimerStatistics const& now, TimePoint time) const;
    void keepRow(timingwheel::TimerStatistics const& now, TimePoint time);

    Terminal& terminal_;
    TimePoint begin_;
    std::chrono::nanoseconds every_;  // a row stays
    TimePoint nextRow_;               // is due to stay
    TimePoint lastTime_;
    timingwheel::TimerStatistics last_;  // at the last row that stays
};

}  // namespace demo
