#pragma once

#include "demo/FollowOneTask.h"
#include "demo/Load.h"
#include "demo/Terminal.h"

namespace demo {

/// The ledger, compared with the timer's statistics.
void reportLedger(Ledger const& ledger, LoadResult const& load, Terminal& terminal);

/// How late tasks began, as a histogram.
void reportLateness(timingwheel::TimerStatistics const& statistics, Terminal& terminal);

/// What it cost: cascades, wake-ups, CPU.
void reportCosts(LoadResult const& load, Terminal& terminal);

}  // namespace demo
