// What docs/migrating/asio.md shows: a session on Asio's timers, and the same on ours.

#include <timingwheel/asio/Deadline.h>
#include <timingwheel/asio/steady_timer.h>

#include <boost/asio/deadline_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;
using boost::system::error_code;

namespace {

namespace before {

class Session {
public:
    explicit Session(boost::asio::io_context& context) : idle_{context} {}

    void onPacket() {
        idle_.expires_from_now(boost::posix_time::milliseconds{20});  // aborts the wait
        idle_.async_wait([this](error_code error) {
            if (error != boost::asio::error::operation_aborted) onIdle();
        });
    }

private:
    void onIdle() { std::puts("idle"); }

    boost::asio::deadline_timer idle_;
};

}  // namespace before

namespace after {

class Session {
public:
    explicit Session(boost::asio::io_context& context)
        : idle_{context.get_executor(), [this] { onIdle(); }} {}

    void onPacket() { idle_.expires_after(20ms); }  // aborts nothing

private:
    void onIdle() { std::puts("idle"); }

    timingwheel::asio::Deadline idle_;
};

}  // namespace after

template <class Session>
void serve() {
    boost::asio::io_context context;
    Session session{context};
    for (int packet = 0; packet < 3; ++packet) session.onPacket();
    context.run();
}

/// The smallest change: the type.
template <class SteadyTimer>
void wait() {
    boost::asio::io_context context;
    SteadyTimer timer{context, 10ms};
    timer.async_wait([](error_code error) { std::puts(error ? "aborted" : "expired"); });
    context.run();
    timer.expires_after(1h);
    timer.async_wait([](error_code error) { std::puts(error ? "aborted" : "expired"); });
    std::printf("cancelled: %zu\n", timer.cancel());
    context.restart();
    context.run();
}

}  // namespace

int main() {
    serve<before::Session>();
    serve<after::Session>();
    wait<boost::asio::steady_timer>();
    wait<timingwheel::asio::steady_timer>();
}
