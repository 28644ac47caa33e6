#pragma once

#include "driver/TimeoutNode.h"
#include "driver/TimerContext.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <cstdint>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// One run of one task, measured, with whatever it throws caught and told.
///
/// Everything that is needed is read from the entry beforehand, under the shard's lock: a hook is
/// not touched once its task was entered, since the task may destroy it.
class TaskRun {
public:
    TaskRun(TimerContext& context, std::uint32_t shard, TimeoutEntry& entry) noexcept;

    /// Null for a hook.
    TimeoutNode* node() const noexcept { return node_; }
    bool isPeriodic() const noexcept { return node_ != nullptr && node_->isPeriodic(); }
    Tick deadline() const noexcept { return deadline_; }
    /// When the task returned.
    Clock::TimePoint ended() const noexcept { return ended_; }

    /// Runs the task. Outside every lock.
    void invoke() noexcept;

private:
    void callTask();
    void measure() noexcept;

    TimerContext& context_;
    TimeoutEntry const* entry_;  // for telling, never followed
    TimeoutNode* node_ = nullptr;
    HookOperations const* hook_ = nullptr;
    void* hookObject_ = nullptr;
    Tick deadline_;
    std::uint32_t shard_;
    Clock::TimePoint started_{};
    Clock::TimePoint ended_{};
};

/// Calls cancelled() of a task that has one. Outside every lock.
void tellCancelled(TimerContext const& context, TimeoutNode& node) noexcept;

/// Destroys the task of a timeout that has ended. Outside every lock.
void destroyTask(TimerContext const& context, TimeoutNode& node) noexcept;

/// Calls cancelled() and destroys the task of a timeout whose cancellation this thread has won.
void endCancelled(TimerContext const& context, TimeoutNode& node) noexcept;

/// Waits until whoever cancelled `node` is done with its task; not from inside that.
void waitForCanceller(TimeoutNode const& node) noexcept;

/// Tells of a task that the executor rejected; `node` is null for a hook.
void tellRejected(TimerContext const& context, TimeoutNode* node,
                  std::exception_ptr exception) noexcept;

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
