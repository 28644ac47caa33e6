// A sleep of ours in a coroutine of Asio, which awaits only what is Asio's.
// says: timingwheel::asio::async_sleep(
#include <timingwheel/Sleep.h>
#include <timingwheel/SystemTimer.h>

#include <boost/asio/awaitable.hpp>

#include <utility>  // which Boost 1.74's awaitable.hpp needs

#if !defined(BOOST_ASIO_HAS_CO_AWAIT)
#    error "nothing to try: nor can timingwheel::asio::async_sleep() be awaited here"
#else
boost::asio::awaitable<void> f(timingwheel::SystemTimer& timer) {
    co_await timer.sleep(std::chrono::seconds{30});
}
#endif
