#pragma once

#include "core/driver/context/TimerContext.h"
#include "core/driver/run/TaskSubject.h"
#include "core/timeout/TimeoutNode.h"

#include <timingwheel/TimerOptions.h>

#include <exception>

namespace timingwheel::inline v1::detail {

// How a task ends. All of this calls the user's code, so it happens outside every lock.

/// Calls the error handler.
void reportFailure(TimerContext const& context, TaskSubject const& subject, TaskFailure::Kind kind,
                   std::exception_ptr exception) noexcept;

/// Destroys the task of a timeout that has ended.
void destroyTask(TimerContext const& context, TimeoutNode& node) noexcept;

/// Calls cancelled() of a task that has one.
void callCancelled(TimerContext const& context, TimeoutNode& node) noexcept;

/// Tells the object of a hook that the timer gave it up.
void callGivenUp(TimerContext const& context, TaskSubject const& hook) noexcept;

/// destroyTask() and callCancelled(), for a timeout whose cancellation this thread has won.
void endCancelledTask(TimerContext const& context, TimeoutNode& node) noexcept;

/// Waits until the thread that cancelled `node` has ended its task. Returns at once on that thread.
void awaitEnd(TimeoutNode const& node) noexcept;

}  // namespace timingwheel::inline v1::detail
