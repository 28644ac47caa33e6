#pragma once

#include "apps/demo/Options.h"
#include "apps/terminal/Terminal.h"

#include <cstdint>

namespace demo {

struct Followed {
    std::uint64_t runs = 0;
    std::uint64_t returned = 0;  ///< by stop(), after Ctrl-C
    std::uint64_t early = 0;
};

/// Schedules one task and prints, as it happens, how it moves down the levels of the wheel.
Followed followOneTask(Options const& options, Terminal& terminal);

/// A deadline of about `wanted` ticks after a timer's start whose way down skips no level.
///
/// A task goes to the level of its deadline's leading digit, written to the base of the wheel's
/// size. When its bucket expires that digit is used up, and the task goes to the level of the next
/// digit that is not zero. So no digit may be zero: with 20 slots, 8,500 ticks are the digits 1, 1,
/// 5, 0, which end on level 1, where 8,501 (1, 1, 5, 1) take levels 3, 2, 1 and 0.
std::int64_t deadlineThroughAllLevels(std::int64_t wanted, std::int64_t wheelSize);

}  // namespace demo
