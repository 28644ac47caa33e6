#pragma once

#include <timingwheel/detail/platform/Standard.h>

// Boost.Asio, or with TIMINGWHEEL_ASIO_STANDALONE Asio without Boost. A program may use both, each
// in files of its own.
#if defined(TIMINGWHEEL_ASIO_STANDALONE)
#    include <asio/any_io_executor.hpp>
#    include <asio/associated_allocator.hpp>
#    include <asio/associated_executor.hpp>
#    include <asio/async_result.hpp>
#    include <asio/basic_waitable_timer.hpp>
#    include <asio/dispatch.hpp>
#    include <asio/error.hpp>
#    include <asio/executor_work_guard.hpp>
#    include <asio/post.hpp>
#    include <asio/system_executor.hpp>
#    include <asio/version.hpp>
#    define TIMINGWHEEL_ASIO_VERSION ASIO_VERSION
#    if ASIO_VERSION >= 102000
#        include <asio/associated_cancellation_slot.hpp>
#    endif
#else
#    include <boost/asio/any_io_executor.hpp>
#    include <boost/asio/associated_allocator.hpp>
#    include <boost/asio/associated_executor.hpp>
#    include <boost/asio/async_result.hpp>
#    include <boost/asio/basic_waitable_timer.hpp>
#    include <boost/asio/dispatch.hpp>
#    include <boost/asio/error.hpp>
#    include <boost/asio/executor_work_guard.hpp>
#    include <boost/asio/post.hpp>
#    include <boost/asio/system_executor.hpp>
#    include <boost/asio/version.hpp>
#    define TIMINGWHEEL_ASIO_VERSION BOOST_ASIO_VERSION
#    if BOOST_ASIO_VERSION >= 102000
#        include <boost/asio/associated_cancellation_slot.hpp>
#    endif
#endif

#if TIMINGWHEEL_ASIO_VERSION < 101800
#    error "timingwheel/asio needs Asio 1.18, which is Boost 1.74, or a newer one"
#endif

namespace timingwheel::inline v1 {
namespace asio::detail {

#if defined(TIMINGWHEEL_ASIO_STANDALONE)
namespace net = ::asio;
inline namespace standalone {
#else
namespace net = ::boost::asio;
inline namespace boosts {
#endif

/// What a queue of timers takes from Asio's inside: the same from Asio 1.18 (Boost 1.74) to 1.38.
struct NetTypes {
    using QueueBase = net::detail::timer_queue_base;
    using Operation = net::detail::operation;
    using Wait = net::detail::wait_op;
    using Scheduler = net::detail::timer_scheduler;
    template <class T>
    using OperationQueue = net::detail::op_queue<T>;

    static void abort(Wait& wait) { wait.ec_ = net::error::operation_aborted; }
};

}  // namespace standalone or boosts
}  // namespace asio::detail
}  // namespace timingwheel::inline v1
