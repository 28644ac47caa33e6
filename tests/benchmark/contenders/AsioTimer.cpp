#include "loads/TimerLoads.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <future>
#include <memory>
#include <thread>

namespace timingwheel::bench {
namespace {

namespace asio = boost::asio;

/// One thread runs the context. A steady_timer belongs to the thread that schedules and cancels
/// it: the documentation calls distinct objects safe and a shared one unsafe, and nobody else
/// touches one here, its handler neither; so there is nothing to post.
class AsioTimer {
public:
    using Token = std::unique_ptr<asio::steady_timer>;  // reused, as a member of a connection is
    explicit AsioTimer(std::chrono::nanoseconds) : thread_{[this] { context_.run(); }} {}
    ~AsioTimer() {
        context_.stop();
        thread_.join();
    }
    AsioTimer(AsioTimer const&) = delete;
    AsioTimer& operator=(AsioTimer const&) = delete;

    void schedule(Token& token, std::chrono::nanoseconds delay, Callback callback) {
        if (!token) token = std::make_unique<asio::steady_timer>(context_);
        token->expires_after(delay);
        token->async_wait([callback](boost::system::error_code const& error) {
            if (!error) callback();
        });
    }

    void cancel(Token& token) { token->cancel(); }

    /// The handlers of cancelled waits run on the thread, in order: so does this one.
    void settle() {
        std::promise<void> reached;
        asio::post(context_, [&reached] { reached.set_value(); });
        reached.get_future().wait();
    }

private:
    asio::io_context context_{1};  // the number of threads that run it
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    std::thread thread_;
};

Registration const registration{
    {"Asio", "Asio steady_timer",
     "an `io_context{1}` run by one thread; `steady_timer` objects are used again"},
    timerLoads<AsioTimer>()};

}  // namespace
}  // namespace timingwheel::bench
