#pragma once

#include <cstdint>

namespace timingwheel::test {

/// SQLite's file system for a process that kills itself at the n-th write, sync, truncation
/// or removal: before it, or with `inTheMiddle` when half of a write is there. Becomes SQLite's
/// default. To be called once, before any file is opened. 0: it only counts.
void killAt(std::uint64_t call, bool inTheMiddle);
std::uint64_t callsUntilNow();

}  // namespace timingwheel::test
