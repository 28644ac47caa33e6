#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/TimerOptions.h>
#include <timingwheel/When.h>
#include <timingwheel/detail/TimeoutEntry.h>
#include <timingwheel/detail/platform/export.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace timingwheel::inline v1 {

class TIMINGWHEEL_API TimerHookBase;
class TIMINGWHEEL_API WheelTimer;

namespace detail {

struct HookAccess;

// For headers that WheelTimer.h includes.

/// As `WheelTimer::schedule`.
TIMINGWHEEL_API void schedule(WheelTimer& timer, TimerHookBase& hook, When when);
/// As `cancel` of each, in whatever timer it is. Skips null pointers. Takes the lock of a shard
/// once for at most 256 hooks in a row. Returns how many were pending.
TIMINGWHEEL_API std::size_t cancelEach(std::span<TimerHookBase* const> hooks) noexcept;

}  // namespace detail

/// What every TimerHook can do, whatever it calls.
class TIMINGWHEEL_API TimerHookBase {
public:
    TimerHookBase(TimerHookBase const&) = delete;
    TimerHookBase& operator=(TimerHookBase const&) = delete;

    /// Moves the deadline of a hook that is pending. Succeeds until the task starts. After that,
    /// and if the hook is not scheduled, it returns false and changes nothing: to revive it, call
    /// `WheelTimer::schedule`. Pass a tolerance each time.
    ///
    /// A push-back to a later deadline takes no lock, except the first one in a shard, and
    /// allocates nothing, except a level that has to be built. Under a clock other than the steady
    /// one it also writes a counter that all threads share. A push-back to a time point without a
    /// tolerance does not read the clock: one that has just passed may count until the next tick.
    /// Throws std::invalid_argument for a negative tolerance, std::bad_alloc if a level cannot be
    /// built; nothing has changed then.
    bool reschedule(When when, TimeoutOptions options = {});

    /// True if the task was pending and will not run. The hook may then be scheduled again.
    bool cancel() noexcept;
    /// Cancels, and waits for runs that have begun. If the hook was scheduled meanwhile, as by such
    /// a run, cancels and waits again. Does not wait inside a run. True if the task was pending.
    bool cancelAndWait() noexcept;

    [[nodiscard]] bool isPending() const noexcept;
    /// When it is, or last was, due; TimePoint::max() if it was never scheduled.
    Clock::TimePoint deadline() const noexcept;

protected:
    TimerHookBase(detail::HookOperations const& operations, void* object) noexcept
        : entry_{operations, object} {}
    /// Cancels, and waits for a run that has begun, unless it is called inside it.
    ~TimerHookBase();

private:
    friend struct detail::HookAccess;

    detail::HookEntry entry_;
};

namespace detail {

template <class>
inline constexpr bool kIsHookFunction = false;

/// The object that a hook's function takes.
template <class F>
struct HookTarget {
    static_assert(kIsHookFunction<F>,
                  "a TimerHook calls a member function without parameters, or a function or a "
                  "captureless lambda that takes the object");
    struct Object {};
};
template <class F>
    requires requires { &F::operator(); }
struct HookTarget<F> : HookTarget<decltype(&F::operator())> {};
template <class R, class C, bool isNoexcept>
struct HookTarget<R (C::*)() noexcept(isNoexcept)> {
    using Object = C;
};
template <class R, class C, bool isNoexcept>
struct HookTarget<R (C::*)() const noexcept(isNoexcept)> {
    using Object = C;
};
template <class R, class C, bool isNoexcept>
struct HookTarget<R (*)(C&) noexcept(isNoexcept)> {
    using Object = C;
};
template <class R, class L, class C, bool isNoexcept>
struct HookTarget<R (L::*)(C&) const noexcept(isNoexcept)> {
    using Object = C;
};

/// `Object` is named too: by `function` alone g++ takes that of another file for it, if both have a
/// class of one name in an unnamed namespace.
template <auto function, class Object>
inline constexpr HookOperations kHookOperations{
    {true},
    [](void* object) { static_cast<void>(std::invoke(function, *static_cast<Object*>(object))); }};

}  // namespace detail

/// A task that is a member of the user's object: set once, scheduled many times, never allocated.
/// For idle timeouts, heartbeats, leases.
///
///     class Connection {
///         void onIdle() { close(); }                                 // may destroy *this
///         timingwheel::TimerHook<&Connection::onIdle> idle_{*this};  // the last member
///     public:
///         void packet(timingwheel::SystemTimer& timer) { timer.schedule(idle_, 60s); }
///     };
///
/// `function` is a member function without parameters, or a function or a captureless lambda that
/// takes the object. The task never sees a partly destroyed object if you keep three rules:
///
/// - Declare the hook last, even after `function`. It is then destroyed first; its destructor
///   cancels it and waits for a run that has begun.
/// - If the class's destructor has a body, call cancelAndWait() first in it.
/// - If the task uses members of a derived class, do so in that class's destructor.
///
/// The task may destroy the hook, and may schedule it again. A hook that is scheduled again during
/// its run may run concurrently with itself if the executor has several threads. A hook belongs to
/// one timer at a time.
///
/// Memory         48 bytes
/// Locks          a hook stays in the shard of the thread that first scheduled it. Threads that
///                schedule or cancel hooks of one shard wait for each other. So let the thread that
///                will use a hook be the first to schedule it. A push-back takes no lock, except
///                the first one in a shard
/// Thread safety  every function from any thread, and from inside the task, except that the
///                destructor, and the first schedule on a different timer, must not run
///                concurrently with any other call. But a task may destroy its hook, and the timer,
///                while the schedule or reschedule that made it due has not returned
/// Lifetime       may outlive the timer
template <auto function>
class TimerHook : public TimerHookBase {
public:
    using Object = typename detail::HookTarget<decltype(function)>::Object;

    explicit TimerHook(Object& object) noexcept
        : TimerHookBase{detail::kHookOperations<function, Object>,
                        const_cast<void*>(static_cast<void const*>(std::addressof(object)))} {}
};

}  // namespace timingwheel::inline v1
