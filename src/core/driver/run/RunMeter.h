#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>

#include <array>
#include <chrono>
#include <cstddef>

namespace timingwheel::inline v1::detail {

class TimerContext;

/// Measures how late the tasks of one thread begin and how long they run.
///
/// Reading the clock takes longer than most tasks that run by the million. So short tasks that
/// follow each other are measured together. The groups grow while each takes less than kShort, and
/// shrink to one task when one takes longer. The tasks of such a group, except the first, count as
/// begun when it ended, and its time counts as that of one run.
class RunMeter {
public:
    explicit RunMeter(TimerContext& context) noexcept;

    /// False if each run is measured alone: runs are watched, other threads run tasks too, or the
    /// clock may go back.
    bool groups() const noexcept { return groups_; }

    /// A task that was due at `deadline` is about to run. REQUIRES: groups().
    void begin(Tick deadline) noexcept {
        if (count_ == most_) endGroup();
        if (!isUnderWay_) start();
        deadlines_[count_++] = deadline;
    }
    /// Ends the group: no further task follows at once.
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

}  // namespace timingwheel::inline v1::detail
