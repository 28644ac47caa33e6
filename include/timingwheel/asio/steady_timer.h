#pragma once

#include <timingwheel/asio/detail/WheelQueue.h>
#include <timingwheel/detail/platform/Asio.h>

#include <chrono>
#include <cstddef>

namespace timingwheel::inline v1 {

/// Timers for programs on Asio. With TIMINGWHEEL_ASIO_STANDALONE they are those of Asio without
/// Boost.
namespace asio {

/// `Clock`'s time under a type that selects a timing wheel with ticks of `TickLength`. Time points
/// are `Clock`'s own.
template <class Clock = std::chrono::steady_clock, class TickLength = std::chrono::milliseconds>
struct wheel_clock {
    using duration = typename Clock::duration;
    using rep = typename duration::rep;
    using period = typename duration::period;
    using time_point = typename Clock::time_point;
    static constexpr bool is_steady = Clock::is_steady;

    static time_point now() noexcept(noexcept(Clock::now())) { return Clock::now(); }
};

/// Asio's own timer, whose waits are kept in a timing wheel instead of a heap. It is Asio's class:
/// each member, rule and completion token is Asio's, and so is the reactor that waits. There is one
/// wheel for each `execution_context` and clock, and no second thread.
///
/// A wait differs from one of Asio's steady_timer in this:
///
/// - It completes on a tick: never early, up to a tick late.
/// - Within a tick, or if due when they began, waits of several timers complete in no promised
///   order.
/// - Starting, cancelling and moving one takes the same number of steps however many are pending.
///   Only building a level of the wheel allocates for it: the wait itself takes memory as in Asio.
/// - A bucket whose waits were all cancelled may wake the reactor once for nothing.
///
/// Needs          Asio 1.18 (Boost 1.74) or newer
/// Thread safety  as Asio's: one thread at a time for a timer
/// Errors         as Asio's; also std::bad_alloc from async_wait if a level cannot be built
template <class Clock, class TickLength = std::chrono::milliseconds,
          class WaitTraits = detail::net::wait_traits<wheel_clock<Clock, TickLength>>,
          class Executor = detail::net::any_io_executor>
using basic_waitable_timer =
    detail::net::basic_waitable_timer<wheel_clock<Clock, TickLength>, WaitTraits, Executor>;

namespace detail {

template <class Clock, class TickLength, class WaitTraits>
using Traits = net::detail::chrono_time_traits<wheel_clock<Clock, TickLength>, WaitTraits>;
template <class Clock, class TickLength, class WaitTraits>
using QueueOf = WheelQueue<NetTypes, Traits<Clock, TickLength, WaitTraits>, TickLength>;

}  // namespace detail

using steady_timer = basic_waitable_timer<std::chrono::steady_clock>;
/// When the clock is set, its waits move too. The change is noticed when the reactor next wakes.
using system_timer = basic_waitable_timer<std::chrono::system_clock>;

}  // namespace asio
}  // namespace timingwheel::inline v1

/// \cond
/// The one customisation point in Asio: which queue holds the waits of a clock. From Asio 1.35 on
/// it also takes an allocator and a reserve, for a heap.
#if TIMINGWHEEL_ASIO_VERSION >= 103500
template <class Clock, class TickLength, class WaitTraits, class Allocator>
class timingwheel::asio::detail::net::detail::timer_queue<
    timingwheel::asio::detail::Traits<Clock, TickLength, WaitTraits>, Allocator>
    : public timingwheel::asio::detail::QueueOf<Clock, TickLength, WaitTraits> {
public:
    timer_queue(Allocator const&, std::size_t) {}
};
#else
template <class Clock, class TickLength, class WaitTraits>
class timingwheel::asio::detail::net::detail::timer_queue<
    timingwheel::asio::detail::Traits<Clock, TickLength, WaitTraits>>
    : public timingwheel::asio::detail::QueueOf<Clock, TickLength, WaitTraits> {};
#endif
/// \endcond
