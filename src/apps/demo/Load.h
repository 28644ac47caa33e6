#pragma once

#include "apps/demo/HeapWithMutex.h"
#include "apps/demo/Occupancy.h"
#include "apps/demo/Options.h"
#include "apps/demo/Producer.h"
#include "apps/terminal/Terminal.h"

#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerStatistics.h>

#include <atomic>
#include <chrono>
#include <deque>

namespace demo {

/// What there is to report of a load.
struct LoadResult {
    timingwheel::TimerStatistics statistics;
    std::chrono::nanoseconds elapsed{};
    std::chrono::nanoseconds processCpu{};
    std::chrono::nanoseconds driverCpu{};
    CallTimes calls;
};

/// A server's load on one timer: several producers, periodic jobs, and a ledger of it all.
class Load {
public:
    explicit Load(Options const& options);

    /// Runs it for the time of the options, or until Ctrl-C, then stops the timer.
    LoadResult run(Terminal& terminal);

    Ledger const& ledger() const noexcept { return ledger_; }

private:
    timingwheel::TimerOptions timerOptions();
    void schedulePeriodicJobs();
    void carry(Terminal& terminal, TimePoint begin);
    void stop();

    Options options_;
    Ledger ledger_;
    Occupancy occupancy_;
    std::atomic<std::chrono::nanoseconds> driverCpu_{};
    // The timer dies first: its tasks use what stands above it.
    std::deque<Producer> producers_;
    timingwheel::SystemTimer timer_;
    Server server_{timer_, ledger_};
};

}  // namespace demo
