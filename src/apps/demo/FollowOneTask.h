#pragma once

#include "apps/demo/Options.h"
#include "apps/demo/Terminal.h"
#include "apps/demo/Trace.h"

#include <cstdint>

namespace demo {

struct Followed {
    std::uint64_t runs = 0;
    std::uint64_t returned = 0;  ///< by stop(), after Ctrl-C
    std::uint64_t early = 0;

    /// One task was accepted, so it has one outcome.
    bool isSound() const noexcept { return runs + returned == 1 && early == 0; }
};

/// Schedules one task and tells, as it happens, how it moves down the levels of the wheel.
Followed followOneTask(Options const& options, TraceFile& trace, Terminal& terminal);

}  // namespace demo
