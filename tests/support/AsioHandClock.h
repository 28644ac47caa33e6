#pragma once

#include <timingwheel/asio/steady_timer.h>

#if defined(TIMINGWHEEL_ASIO_STANDALONE)
#    include <asio/bind_executor.hpp>
#    include <asio/executor_work_guard.hpp>
#    include <asio/io_context.hpp>
#    include <asio/post.hpp>
#    include <asio/strand.hpp>
#else
#    include <boost/asio/bind_executor.hpp>
#    include <boost/asio/executor_work_guard.hpp>
#    include <boost/asio/io_context.hpp>
#    include <boost/asio/post.hpp>
#    include <boost/asio/strand.hpp>
#endif
#if TIMINGWHEEL_ASIO_VERSION >= 102000
#    if defined(TIMINGWHEEL_ASIO_STANDALONE)
#        include <asio/bind_cancellation_slot.hpp>
#        include <asio/cancellation_signal.hpp>
#    else
#        include <boost/asio/bind_cancellation_slot.hpp>
#        include <boost/asio/cancellation_signal.hpp>
#    endif
#endif

#include <chrono>

/// Asio's timers by a clock that the test sets. With Asio's plainest reactor, which looks what is
/// due whenever it is asked (BOOST_ASIO_DISABLE_EPOLL), each course can be repeated.
namespace timingwheel::test {

namespace net = timingwheel::asio::detail::net;

/// Longer than any test waits.
inline constexpr std::chrono::hours kLong{1};

/// One that is not steady may be set back.
template <bool isSteady>
struct HandClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<HandClock>;
    static constexpr bool is_steady = isSteady;
    static time_point now() noexcept { return time; }
    inline static time_point time{};
};

/// The reactor does not sleep.
struct NoSleep {
    template <class Duration>
    static Duration to_wait_duration(Duration) {
        return Duration::zero();
    }
};

template <class Clock>
using AsiosTimer = net::basic_waitable_timer<Clock, NoSleep>;
template <class Clock>
using WheelsTimer =
    timingwheel::asio::basic_waitable_timer<Clock, std::chrono::milliseconds, NoSleep>;

}  // namespace timingwheel::test
