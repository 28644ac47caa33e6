#pragma once

#include <timingwheel/export.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace timingwheel {
inline namespace v1 {

/// How late tasks began: counts in buckets whose width grows with the value, 8 to an octave, so
/// that no figure is more than 12.5 % above the truth, and none below it.
///
/// Units          nanoseconds
class TIMINGWHEEL_API LatenessHistogram {
public:
    static constexpr std::size_t kBuckets = 488;

    static std::size_t bucketOf(std::chrono::nanoseconds lateness) noexcept;
    /// The largest lateness that falls into a bucket.
    static std::chrono::nanoseconds upperBound(std::size_t bucket) noexcept;

    void add(std::chrono::nanoseconds lateness, std::uint64_t times = 1) noexcept;

    std::uint64_t count() const noexcept;
    /// The least lateness that `fraction` (0 to 1) of all do not exceed; 0 when there are none.
    std::chrono::nanoseconds quantile(double fraction) const noexcept;

    std::array<std::uint64_t, kBuckets> const& counts() const noexcept { return counts_; }

private:
    std::array<std::uint64_t, kBuckets> counts_{};
};

/// A snapshot of what a timer has done since it was made. Prints itself.
///
/// The counts of one shard are exact at one instant, those of the whole timer are not taken at one
/// instant unless it rests. At rest
/// `scheduled == pending + fired + cancelled + rejected + returned`, where a periodic timeout
/// counts once, when it ends.
///
/// Lateness and the longest run are exact for a task that is told of (an observer, a threshold for
/// slow tasks), that runs on an executor or is periodic, or with a clock of one's own. Else up to
/// 16 short tasks that follow each other are measured together, from the start of the first until
/// the captures of the last are gone. None is told better than it was by 2 us or more; up to 15
/// neighbours of one that ran for longer may be told worse, by its time.
struct TIMINGWHEEL_API TimerStatistics {
    std::string name;
    std::uint64_t pending = 0;            ///< accepted and not run, queued in an executor included
    std::uint64_t scheduled = 0;          ///< accepted schedules
    std::uint64_t fired = 0;              ///< timeouts whose task was entered
    std::uint64_t runs = 0;               ///< tasks entered: a periodic one counts every time
    std::uint64_t cancelled = 0;          ///< cancel() returned true
    std::uint64_t returned = 0;           ///< returned by stop()
    std::uint64_t rejected = 0;           ///< refused or dropped by the executor
    std::uint64_t rescheduled = 0;        ///< reschedule() returned true
    std::uint64_t refused = 0;            ///< not accepted: the limit of pending was reached
    std::uint64_t wakeUps = 0;            ///< times the driver thread slept and woke
    std::vector<std::uint64_t> cascaded;  ///< entries that moved down, by the level they left
    std::chrono::nanoseconds longestRun{};  ///< of one task
    std::chrono::nanoseconds maxLateness{};
    std::chrono::nanoseconds minLateness{};  ///< 0 when nothing has run
    LatenessHistogram lateness;

    TIMINGWHEEL_API friend std::ostream& operator<<(std::ostream& out,
                                                    TimerStatistics const& statistics);
};

}  // namespace v1
}  // namespace timingwheel
