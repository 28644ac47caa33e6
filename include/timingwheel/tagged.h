#pragma once

#include <timingwheel/detail/Mistakes.h>
#include <timingwheel/detail/TaskOperations.h>

#include <utility>

namespace timingwheel::inline v1 {

/// A task with a word that says what it is for: `Timer::pending` shows it. Every function that
/// schedules a task takes it:
///
///     timer.newTimeout(timingwheel::tagged("idle", task), 30s);
///     auto beat = timingwheel::ifAlive(session, &Session::beat);
///     timer.scheduleAtFixedRate(timingwheel::tagged(&connection, beat), 1s, 1s);
///
/// The timer keeps the pointer and never follows it. It may be that of a literal, or the address of
/// an object. `untilStopped(token, tagged("idle", task))` has a tag, too; `untilStopped` comes
/// first. In what stop() returns, a tagged callable has no `target`; `task()` is as without a tag.
///
/// Locks          in a HashedWheelTimer cancel() takes one for a tagged task, briefly
/// Memory         a pointer in the same allocation; nothing for a task without a tag
/// Lifetime       what the tag points to may die first
template <class Task>
    requires(!detail::kIsUntilStopped<Task>)
[[nodiscard]] detail::TaggedTask<Task> tagged(void const* tag, Task task) {
    detail::requireTask<Task>();
    return {std::move(task), tag};
}

}  // namespace timingwheel::inline v1
