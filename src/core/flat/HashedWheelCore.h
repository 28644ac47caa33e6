#pragma once

#include "core/driver/Lifecycle.h"
#include "core/flat/HashedWheelWorker.h"

#include <timingwheel/TaskPool.h>
#include <timingwheel/TimerStatistics.h>
#include <timingwheel/When.h>
#include <timingwheel/detail/TaskOperations.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace timingwheel::inline v1::detail {

/// A whole HashedWheelTimer behind its interface: one worker, and the thread that drives it.
class HashedWheelCore final : private TimerContext::Whole, private Lifecycle::Engine {
public:
    /// `pool`, if there is one, is the executor that the options name.
    HashedWheelCore(TimerOptions timerOptions, HashedWheelOptions wheel, bool runsDueAtOnce,
                    std::unique_ptr<TaskPool> pool);

    TimerContext& context() noexcept { return context_; }
    TimerContext const& context() const noexcept { return context_; }
    Lifecycle& life() noexcept { return life_; }

    Timeout newTimeout(TaskSource task, When when, TimeoutOptions options);
    /// As Lifecycle::stop, but only the first of several callers waits. REQUIRES: a user is not
    /// inside a task.
    StoppedTimeouts stop(Lifecycle::Caller caller);

    TimerStatistics statistics();
    /// Makes `found` what is pending, in one part. Returns false behind it.
    bool findPending(std::size_t part, std::vector<FoundTimeout>& found);
    std::int64_t ticksPerWheel() const noexcept { return worker_.ticksPerWheel(); }

private:
    void destroy() noexcept override { delete this; }
    Tick nextWake() const noexcept override { return worker_.nextWake(); }
    void prepare() noexcept override;
    void open() noexcept override { worker_.open(); }
    void drive() noexcept override;
    void close(StoppedTimeouts& stopped) noexcept override;
    void collect(StoppedTimeouts& stopped) noexcept override;
    void tellStopped(StoppedTimeouts const& stopped) noexcept override {
        worker_.tellStopped(stopped);
    }
    void orphanKeepers() noexcept override { worker_.orphan(); }

    bool scheduleOrRun(TimeoutNode& node, Clock::TimePoint now, Clock::TimePoint deadline);

    ~HashedWheelCore() = default;

    TimerContext context_;
    Lifecycle life_;
    bool const runsDueAtOnce_;
    std::atomic<bool> isStopped_{false};
    std::unique_ptr<TaskPool> pool_;
    HashedWheelWorker worker_;
};

}  // namespace timingwheel::inline v1::detail
