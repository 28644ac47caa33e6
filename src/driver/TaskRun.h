#pragma once

#include "driver/RunMeter.h"
#include "driver/TimeoutNode.h"
#include "driver/TimerContext.h"

#include <timingwheel/Clock.h>
#include <timingwheel/Tick.h>
#include <timingwheel/TimerObserver.h>
#include <timingwheel/detail/TimeoutEntry.h>

#include <chrono>
#include <cstdint>

namespace timingwheel {
inline namespace v1 {
namespace detail {

/// What a task belongs to: a node, or the user's object of a hook. Read under the shard's lock; the
/// hook itself is not needed any more.
struct TaskSubject {
    TaskSubject() noexcept = default;
    explicit TaskSubject(TimeoutEntry& entry) noexcept;

    TimeoutNode* node = nullptr;  ///< null for a hook
    HookOperations const* hook = nullptr;
    void* object = nullptr;  ///< null for a node
};

/// One run of one task, measured, with whatever it throws caught and told.
///
/// Everything that is needed is read from the entry beforehand, under the shard's lock: a hook is
/// not touched once its task was entered, since the task may destroy it.
class TaskRun {
public:
    TaskRun(TimerContext& context, std::uint32_t shard, TimeoutEntry& entry) noexcept;

    /// Null for a hook.
    TimeoutNode* node() const noexcept { return subject_.node; }
    bool isPeriodic() const noexcept { return node() != nullptr && node()->isPeriodic(); }
    Tick deadline() const noexcept { return deadline_; }
    /// When the task returned. REQUIRES: isPeriodic().
    Clock::TimePoint ended() const noexcept { return ended_; }

    /// Runs the task. Outside every lock.
    void invoke(RunMeter& meter) noexcept;
    /// What an observer hears of it afterwards. REQUIRES: there is one.
    TimerEvent event() const noexcept;

private:
    void callTask() noexcept;
    void measure() noexcept;

    TimerContext& context_;
    TimeoutEntry const* entry_;  // for telling, never followed
    TaskSubject subject_;
    Tick deadline_;
    std::uint32_t shard_;
    Clock::TimePoint started_{};
    Clock::TimePoint ended_{};
    std::chrono::nanoseconds lateness_{};
    std::chrono::nanoseconds duration_{};
};

/// Calls cancelled() of a task that has one. Outside every lock.
void tellCancelled(TimerContext const& context, TimeoutNode& node) noexcept;

/// Destroys the task of a timeout that has ended. Outside every lock.
void destroyTask(TimerContext const& context, TimeoutNode& node) noexcept;

/// Calls cancelled() and destroys the task of a timeout whose cancellation this thread has won.
void endCancelled(TimerContext const& context, TimeoutNode& node) noexcept;

/// Waits until whoever cancelled `node` is done with its task; not from inside that.
void waitForCanceller(TimeoutNode const& node) noexcept;

/// Tells of a task that the executor rejected.
void tellRejected(TimerContext const& context, TaskSubject const& subject,
                  std::exception_ptr exception) noexcept;

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
