#pragma once

#include "apps/demo/FollowOneTask.h"
#include "apps/demo/Ledger.h"

#include <timingwheel/TimerStatistics.h>

#include <cstdint>

namespace demo {

enum Exit : int { kFine = 0, kFailed = 1, kUsage = 2, kInterrupted = 130 };

/// What the demo has found: its exit status.
struct Outcome {
    bool isSound = true;  ///< each timeout is accounted for
    bool isWritten = true;
    std::uint64_t runs = 0;
    std::uint64_t early = 0;

    void add(Followed const& followed) noexcept {
        isSound = isSound && followed.isSound();
        runs += followed.runs;
        early += followed.early;
    }
    /// `statistics`: those of the timer that the ledger was kept for.
    void add(Ledger const& ledger, timingwheel::TimerStatistics const& statistics) noexcept {
        isSound = isSound && ledger.isBalanced() && ledger.agreesWith(statistics);
        runs += ledger.runs();
        early += ledger.early();
    }

    Exit exitStatus(bool isInterrupted) const noexcept {
        if (!isSound || early > 0 || !isWritten) return kFailed;
        return isInterrupted ? kInterrupted : kFine;
    }
};

}  // namespace demo
