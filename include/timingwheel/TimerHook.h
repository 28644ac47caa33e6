#pragma once

#include <timingwheel/Clock.h>
#include <timingwheel/Duration.h>
#include <timingwheel/TimerOptions.h>
#include <timingwheel/detail/TimeoutEntry.h>
#include <timingwheel/export.h>

#include <functional>
#include <memory>

namespace timingwheel {
inline namespace v1 {

class TimerObserver;
class WheelTimer;

/// What every TimerHook can do, whatever it calls.
class TIMINGWHEEL_API TimerHookBase {
public:
    TimerHookBase(TimerHookBase const&) = delete;
    TimerHookBase& operator=(TimerHookBase const&) = delete;

    /// Moves the deadline to `delay` from now. Wins until the task starts; otherwise, or when the
    /// hook is not scheduled, returns false and changes nothing. To a later deadline it takes no
    /// lock, allocates nothing, and writes the entry's word and a counter. A tolerance is given
    /// anew each time.
    bool reschedule(Duration delay, TimeoutOptions options = {});
    /// The same to a point of the timer's clock: saves reading the clock.
    bool reschedule(Clock::TimePoint deadline, TimeoutOptions options = {});

    /// True if the task was pending and now will not run. The hook may then be scheduled again.
    bool cancel() noexcept;
    /// Cancels, or else waits until a run that has begun is over. Does not wait from inside a run.
    bool cancelAndWait() noexcept;

    bool isPending() const noexcept;
    /// When it is, or last was, due; TimePoint::max() if it was never scheduled.
    Clock::TimePoint deadline() const noexcept;

protected:
    TimerHookBase(detail::HookOperations const& operations, void* object) noexcept
        : entry_{operations, object} {}
    /// Cancels, and waits for a run that has begun, unless it is called inside it.
    ~TimerHookBase();

private:
    friend class WheelTimer;
    friend class TimerObserver;

    detail::HookEntry entry_;
};

namespace detail {

/// The object that a hook's function takes.
template <class F>
struct HookTarget {  // a lambda without captures
    using Object = typename HookTarget<decltype(&F::operator())>::Object;
};
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

}  // namespace detail

/// A task that the user owns, set once and scheduled many times: it is the entry itself, so that
/// nothing is ever allocated. For idle timeouts, heartbeats, leases.
///
///     class Connection {
///         void onIdle() { close(); }                                 // may destroy *this
///         timingwheel::TimerHook<&Connection::onIdle> idle_{*this};  // the last member
///     public:
///         void start(timingwheel::SystemTimer& timer) { timer.schedule(idle_, 60s); }
///         void packet() { idle_.reschedule(60s); }
///     };
///
/// `function` is a member function without parameters, or a function or a lambda without captures
/// that takes the object. The hook is declared last, after the function too: it is then the first
/// member to be destroyed, and its destructor cancels it and waits for a run that has begun. In a
/// class whose destructor has a body, begin that body with cancelAndWait(), and in one that is
/// derived from, the destructor of whatever the task uses: it then never sees an object that is
/// half gone.
///
/// The task may destroy the hook and schedule it again. Scheduled again during its run, on an
/// executor with several threads, it may run concurrently with itself. One hook belongs to one
/// timer at a time.
///
/// Memory         48 bytes
/// Locks          a hook stays with the wheel of the thread that scheduled it first: threads that
///                schedule and cancel hooks of one wheel wait for each other. Schedule it first on
///                the thread that will. A push-back takes no lock, whoever makes it
/// Thread safety  every function from any thread, and from inside the task; but alone the
///                destructor, and a schedule on another timer than before
/// Lifetime       may outlive the timer
template <auto function>
class TimerHook : public TimerHookBase {
public:
    using Object = typename detail::HookTarget<decltype(function)>::Object;

    explicit TimerHook(Object& object) noexcept
        : TimerHookBase{kOperations, std::addressof(object)} {}

private:
    static constexpr detail::HookOperations kOperations{
        {true}, [](void* object) {
            static_cast<void>(std::invoke(function, *static_cast<Object*>(object)));
        }};
};

}  // namespace v1
}  // namespace timingwheel
