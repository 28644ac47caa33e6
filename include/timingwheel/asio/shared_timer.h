#pragma once

#include <timingwheel/SystemTimer.h>
#include <timingwheel/asio/detail/SharedQueue.h>
#include <timingwheel/detail/platform/Asio.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>

namespace timingwheel::inline v1::asio {

/// `Clock`, under a name that says where its waits are kept: in the SystemTimer that use_timer()
/// gave to the context.
template <class Clock = std::chrono::steady_clock>
struct shared_clock {
    static_assert(Clock::is_steady, "a SystemTimer has a steady clock");

    using duration = typename Clock::duration;
    using rep = typename duration::rep;
    using period = typename duration::period;
    using time_point = typename Clock::time_point;
    static constexpr bool is_steady = true;

    static time_point now() noexcept(noexcept(Clock::now())) { return Clock::now(); }
};

/// Asio's own timer, whose waits are kept in a SystemTimer that several contexts share. It is
/// Asio's class, as `steady_timer` is: each member, rule and completion token is Asio's.
///
///     timingwheel::SystemTimer timer;
///     asio::io_context first, second;                    // each with threads of its own
///     timingwheel::asio::use_timer(first, timer);
///     timingwheel::asio::use_timer(second, timer);
///     timingwheel::asio::shared_timer timeout{first, 30s};
///     timeout.async_wait(onTimeout);                     // on a thread that runs `first`
///
/// The timer's driver, or its executor, hands a wait that is due to the context. Handlers run where
/// Asio runs them, never on the driver's thread. A context sleeps until it is handed something.
///
/// A wait differs from one of Asio's steady_timer in this:
///
/// - It completes on a tick of the SystemTimer: never early, up to a tick late.
/// - It is due for the context when the driver has handed it over. poll() alone does not find it.
/// - Within a tick, or if due when they began, waits of several timers complete in no promised
///   order.
/// - It ends with `operation_aborted` when the SystemTimer is stopped or destroyed, or when its
///   cancelAll() or its executor gives the wait up.
///
/// Needs          Asio 1.18 (Boost 1.74) or newer; a context with its locks, so none that was made
///                for one thread by BOOST_ASIO_CONCURRENCY_HINT_UNSAFE
/// Memory         72 bytes of the context for each timer that is waited for, used again and freed
///                with the context; the wait itself takes memory as in Asio
/// Thread safety  as Asio's: one thread at a time for a timer
/// Lifetime       the SystemTimer must outlive the last async_wait of the contexts
/// Errors         as Asio's. std::logic_error from the constructor if the context has no timer.
///                From async_wait what WheelTimer::schedule throws, and nothing has changed then:
///                std::logic_error if the timer was stopped, RejectedExecution at its limit,
///                std::bad_alloc
template <class Clock, class WaitTraits = detail::net::wait_traits<shared_clock<Clock>>,
          class Executor = detail::net::any_io_executor>
using basic_shared_timer =
    detail::net::basic_waitable_timer<shared_clock<Clock>, WaitTraits, Executor>;

using shared_timer = basic_shared_timer<std::chrono::steady_clock>;

/// Makes a context keep the waits of its shared timers in `timer`. Call it once for each context,
/// before the first shared_timer is made on it, and not while another thread calls it.
///
/// `Timer` is the timers' type, if they have another clock or other traits. Its clock must be that
/// of the SystemTimer.
///
/// An observer of the SystemTimer is called inside Asio for a schedule or a cancel: it must not use
/// timers or sockets of the context.
///
/// Errors         std::logic_error if the context has a timer already
template <class Timer = shared_timer>
void use_timer(detail::net::execution_context& context, SystemTimer& timer) {
    using Traits = detail::net::detail::chrono_time_traits<typename Timer::clock_type,
                                                           typename Timer::traits_type>;
    using Service = detail::net::detail::deadline_timer_service<Traits>;
    using Given = detail::GivenTimer<detail::NetTypes>;
    if (detail::net::has_service<Service>(context))
        throw std::logic_error{"timingwheel::asio::use_timer: the context has a timer already"};
    Given const given{timer, detail::net::use_service<detail::NetTypes::Scheduler>(context)};
    struct Giving {
        explicit Giving(Given const& to) noexcept { Given::now = &to; }
        Giving(Giving const&) = delete;
        Giving& operator=(Giving const&) = delete;
        ~Giving() { Given::now = nullptr; }
    } const giving{given};
    detail::net::use_service<Service>(context);
}

namespace detail {

template <class Clock, class WaitTraits>
using SharedTraits = net::detail::chrono_time_traits<shared_clock<Clock>, WaitTraits>;

}  // namespace detail

}  // namespace timingwheel::inline v1::asio

/// \cond
/// As in steady_timer.h.
#if TIMINGWHEEL_ASIO_VERSION >= 103500
template <class Clock, class WaitTraits, class Allocator>
class timingwheel::asio::detail::net::detail::timer_queue<
    timingwheel::asio::detail::SharedTraits<Clock, WaitTraits>, Allocator>
    : public timingwheel::asio::detail::SharedQueue<
          timingwheel::asio::detail::NetTypes,
          timingwheel::asio::detail::SharedTraits<Clock, WaitTraits>,
          timer_queue<timingwheel::asio::detail::SharedTraits<Clock, WaitTraits>, Allocator>> {
public:
    timer_queue(Allocator const&, std::size_t) {}
};
#else
template <class Clock, class WaitTraits>
class timingwheel::asio::detail::net::detail::timer_queue<
    timingwheel::asio::detail::SharedTraits<Clock, WaitTraits>>
    : public timingwheel::asio::detail::SharedQueue<
          timingwheel::asio::detail::NetTypes,
          timingwheel::asio::detail::SharedTraits<Clock, WaitTraits>,
          timer_queue<timingwheel::asio::detail::SharedTraits<Clock, WaitTraits>>> {};
#endif
/// \endcond
