#pragma once

#include "apps/demo/Ledger.h"
#include "apps/demo/Occupancy.h"
#include "apps/demo/Options.h"
#include "apps/demo/Producer.h"
#include "apps/demo/Tasks.h"
#include "apps/demo/Terminal.h"
#include "apps/demo/Trace.h"

#include <timingwheel/SystemTimer.h>
#include <timingwheel/TaskPool.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/TimerStatistics.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <random>

namespace demo {

/// What there is to report of a load.
struct LoadResult {
    timingwheel::TimerStatistics statistics;
    std::chrono::nanoseconds elapsed{};
    std::chrono::nanoseconds processCpu{};
    std::chrono::nanoseconds driverCpu{};
};

/// A server's load on one timer: several producers, periodic jobs, and a ledger of it all.
class Load {
public:
    /// `trace` gets the events of the load if no task is followed.
    Load(Options const& options, TraceFile& trace);

    /// Runs it for the time of the options, or until Ctrl-C, then stops the timer.
    LoadResult run(Terminal& terminal);

    Ledger const& ledger() const noexcept { return ledger_; }

private:
    timingwheel::TimerOptions timerOptions();
    void schedulePeriodicJobs();
    /// Shows the progress until the load is over; `view` is a Progress or a Watch.
    template <class View>
    void carry(View view, TimePoint begin);
    void stop();

    Options options_;
    Ledger ledger_;
    Occupancy occupancy_;
    std::atomic<std::chrono::nanoseconds> driverCpu_{};
    // The timer dies first: its tasks use what stands above it.
    std::deque<Producer> producers_;
    std::unique_ptr<timingwheel::TaskPool> pool_;  // null: tasks run inline
    std::unique_ptr<timingwheel::TimerObserver> trace_;
    timingwheel::SystemTimer timer_;
    Server server_{timer_, ledger_};
};

}  // namespace demo
