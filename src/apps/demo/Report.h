#pragma once

#include "apps/demo/Ledger.h"
#include "apps/demo/Load.h"
#include "apps/terminal/Terminal.h"

#include <string>

namespace demo {

/// One line: that all is well, or what is not.
void reportVerdict(bool isGood, std::string const& good, std::string const& bad,
                   Terminal& terminal);

/// How late tasks began, as a histogram, and what it cost: cascades, wake-ups, CPU, and what a heap
/// with a mutex takes.
void reportLatenessAndCosts(LoadResult const& load, Terminal& terminal);

/// The ledger, compared with the timer's statistics. Returns whether all is well.
bool reportLedger(Ledger const& ledger, LoadResult const& load, Terminal& terminal);

}  // namespace demo
