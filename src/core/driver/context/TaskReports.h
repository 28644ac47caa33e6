#pragma once

#include <timingwheel/TimerOptions.h>

namespace timingwheel::inline v1::detail {

/// Reports to the user's handlers what went wrong with a task. Without a handler it prints one line
/// on stderr. What a handler throws is dropped.
///
/// Thread safety  any number of threads, outside every lock
class TaskReports {
public:
    /// `options` must outlive this.
    explicit TaskReports(TimerOptions const& options) noexcept : options_{options} {}

    void failure(TaskFailure failure) const noexcept;
    void slow(SlowTask slow) const noexcept;

private:
    TimerOptions const& options_;
};

}  // namespace timingwheel::inline v1::detail
