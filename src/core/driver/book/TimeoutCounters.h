#pragma once

#include <timingwheel/TimerStatistics.h>

#include <cstdint>

namespace timingwheel::inline v1::detail {

/// What has become of the timeouts of one keeper.
///
/// Thread safety  none: guarded by the keeper's lock
struct TimeoutCounters {
    void readInto(TimerStatistics& statistics) const noexcept {
        statistics.scheduled += scheduled;
        statistics.fired += fired;
        statistics.runs += runs;
        statistics.cancelled += cancelled;
        statistics.returned += returned;
        statistics.rejected += rejected;
        statistics.rescheduled += rescheduled;
    }

    std::uint64_t scheduled = 0;
    std::uint64_t fired = 0;
    std::uint64_t runs = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t returned = 0;
    std::uint64_t rejected = 0;
    std::uint64_t rescheduled = 0;
};

}  // namespace timingwheel::inline v1::detail
