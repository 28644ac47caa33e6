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
/// Reading the system's clock takes longer than most tasks that are run by the million. So short
/// ones that follow each other are measured together: a group grows while all of it takes less than
/// kShort, and shrinks to one as soon as it does not. Nothing is told better than it was: the tasks
/// of a group that took longer count as begun when it ended, and its time as that of one run.
class RunMeter {
public:
    explicit RunMeter(TimerContext& context) noexcept;

    /// False where each run has to be measured on its own: somebody hears of it, other threads run
    /// tasks as well, or the clock is set by hand and has its own idea of how fast time goes by.
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
