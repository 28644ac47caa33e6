#pragma once

#include <timingwheel/detail/platform/export.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace timingwheel::inline v1 {

/// Counts how late tasks began. Bucket widths grow with the value, 8 buckets to an octave: a
/// reported figure is at most 12.5 % above the true one and never below it.
///
/// Units          nanoseconds
class TIMINGWHEEL_API LatenessHistogram {
public:
    static constexpr std::size_t kBuckets = 488;

    static std::size_t bucketOf(std::chrono::nanoseconds lateness) noexcept;
    /// The largest lateness that falls into `bucket`.
    static std::chrono::nanoseconds upperBound(std::size_t bucket) noexcept;

    void add(std::chrono::nanoseconds lateness, std::uint64_t times = 1) noexcept;

    std::uint64_t count() const noexcept;
    /// The smallest lateness that `fraction` (0 to 1) of all tasks do not exceed; 0 without tasks.
    std::chrono::nanoseconds quantile(double fraction) const noexcept;

    std::array<std::uint64_t, kBuckets> const& counts() const noexcept { return counts_; }

private:
    std::array<std::uint64_t, kBuckets> counts_{};
};

/// A snapshot of what a timer has done since it was made. Prints itself with `<<`.
///
/// Each shard's counts are a consistent snapshot; the totals are consistent only while the timer is
/// idle. Then `scheduled == pending + fired + cancelled + rejected + returned`, where a periodic
/// timeout counts once, when it ends.
///
/// Lateness and the longest run are exact
///
/// - with an observer, a threshold for slow tasks, or a clock that may go back: all but
///   `Clock::steady()` and `Clock::continuous()`;
/// - for periodic tasks, and for tasks on an executor.
///
/// Otherwise up to 16 short tasks in a row are measured together, from the start of the first until
/// the captures of the last are destroyed. A reported lateness is never 2 us or more too low. If
/// one task of such a group runs long, up to 15 neighbours may be reported late by that task's run
/// time.
struct TIMINGWHEEL_API TimerStatistics {
    std::string name;
    std::uint64_t pending = 0;      ///< accepted and not run; also tasks queued in an executor
    std::uint64_t scheduled = 0;    ///< accepted schedules
    std::uint64_t fired = 0;        ///< timeouts whose task was entered
    std::uint64_t runs = 0;         ///< tasks entered: a periodic one counts every time
    std::uint64_t cancelled = 0;    ///< cancel() returned true, or cancelAll()
    std::uint64_t returned = 0;     ///< returned by stop()
    std::uint64_t rejected = 0;     ///< refused or dropped by the executor
    std::uint64_t rescheduled = 0;  ///< reschedule() returned true
    std::uint64_t refused = 0;      ///< not accepted: the limit of pending was reached
    std::uint64_t wakeUps = 0;      ///< how often the driver thread slept and woke
    std::vector<std::uint64_t> cascaded;    ///< entries moved down, by the level that they left
    std::chrono::nanoseconds longestRun{};  ///< of one task
    std::chrono::nanoseconds maxLateness{};
    std::chrono::nanoseconds minLateness{};  ///< 0 when nothing has run
    LatenessHistogram lateness;

    TIMINGWHEEL_API friend std::ostream& operator<<(std::ostream& out,
                                                    TimerStatistics const& statistics);
};

}  // namespace timingwheel::inline v1
