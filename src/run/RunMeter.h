#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>

#include <array>
#include <chrono>
#include <cstddef>

namespace timingwheel {
inline namespace v1 {
namespace detail {

class TimerContext;

/// Measures how late the tasks of one thread begin and how long they run.
///
/// Reading the clock takes longer than most tasks that run by the million. So short tasks that
/// follow each other are measured together: a group grows while all of it takes less than kShort,
/// and shrinks to one when it does not. No lateness is reported too low: the tasks of a group that
/// took longer count as begun when it ended, and its time as that of one run.
class RunMeter {
public:
    explicit RunMeter(TimerContext& context) noexcept;

    /// False where each run is measured alone: it is observed, other threads run tasks too, or the
    /// clock is not the steady one.
    bool groups() const noexcept { return groups_; }

    /// A task that was due at `deadline` is about to run. REQUIRES: groups().
    void begin(Tick deadline) noexcept {
        if (count_ == most_) endGroup();
        if (!isUnderWay_) start();
        deadlines_[count_++] = deadline;
    }
    /// No further task will follow at once.
    void finish() noexcept;

private:
    static constexpr std::size_t kMost = 16;
    static constexpr std::chrono::nanoseconds kShort{2'000};

    void start() noexcept;
    void endGroup() noexcept;
    void recordLateness(std::size_t from, std::size_t to, Clock::TimePoint begun) noexcept;

    TimerContext& context_;
    bool const groups_;
    bool isUnderWay_ = false;
    std::size_t count_ = 0;
    std::size_t most_ = 1;
    Clock::TimePoint started_{};
    std::array<Tick, kMost> deadlines_;
};

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
