#pragma once

#include "apps/demo/Ledger.h"
#include "apps/demo/Load.h"
#include "apps/demo/Terminal.h"

#include <timingwheel/TimerStatistics.h>

#include <string>

namespace demo {

/// One line: that all is well, or what is not.
void reportVerdict(bool isGood, std::string const& good, std::string const& bad,
                   Terminal& terminal);

/// The ledger, compared with the timer's statistics.
void reportLedger(Ledger const& ledger, LoadResult const& load, Terminal& terminal);

/// How late tasks began, as a histogram.
void reportLateness(timingwheel::TimerStatistics const& statistics, Terminal& terminal);

/// What it cost: cascades, wake-ups, CPU.
void reportCosts(LoadResult const& load, Terminal& terminal);

}  // namespace demo
