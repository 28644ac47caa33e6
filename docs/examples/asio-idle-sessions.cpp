// When a server on Boost.Asio closes sessions that have fallen silent: a Deadline in each session,
// pushed back with every packet. In the same io_context, a steady_timer that waits in a wheel.

#include <timingwheel/asio/Deadline.h>
#include <timingwheel/asio/steady_timer.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <utility>

namespace net = boost::asio;
using net::ip::tcp;
using namespace std::chrono_literals;

namespace {

constexpr int kPackets = 20'000;
constexpr auto kIdle = 1s;

// Answers what it hears, until it has heard nothing for a while.
class Session : public std::enable_shared_from_this<Session> {
public:
    explicit Session(tcp::socket socket) : socket_{std::move(socket)} {}

    void start() {
        idle_.expires_after(kIdle);
        read();
    }

private:
    void read() {
        socket_.async_read_some(
            net::buffer(packet_), [self = shared_from_this()](auto error, auto n) {
                if (error) return self->end();
                self->idle_.expires_after(kIdle);  // aborts nothing, allocates nothing
                self->answer(n);
            });
    }

    void answer(std::size_t size) {
        net::async_write(socket_, net::buffer(packet_.data(), size),
                         [self = shared_from_this()](auto error, auto) {
                             if (error) return self->end();
                             self->read();
                         });
    }

    void onIdle() {
        std::puts("the server closes a session that has fallen silent");
        socket_.close();
    }

    void end() { idle_.cancel(); }

    tcp::socket socket_;
    std::array<char, 64> packet_{};
    timingwheel::asio::Deadline idle_{socket_.get_executor(), [this] { onIdle(); }};
};

// Says something as soon as it is answered, and then nothing any more.
class Client {
public:
    Client(net::io_context& context, tcp::endpoint const& server) : socket_{context} {
        socket_.connect(server);
        say();
    }

private:
    void say() {
        net::async_write(socket_, net::buffer("ping", 4), [this](auto, auto) { listen(); });
    }

    void listen() {
        socket_.async_read_some(net::buffer(packet_), [this](auto error, auto) {
            if (error) {
                std::puts("the client sees that");
            } else if (++answers_ < kPackets) {
                say();
            } else {
                std::printf("%d packets were answered\n", answers_);
                listen();
            }
        });
    }

    tcp::socket socket_;
    std::array<char, 64> packet_{};
    int answers_ = 0;
};

}  // namespace

int main() {
    net::io_context context{1};
    tcp::acceptor acceptor{context, {net::ip::address_v4::loopback(), 0}};
    acceptor.async_accept(
        [](auto, tcp::socket socket) { std::make_shared<Session>(std::move(socket))->start(); });
    Client client{context, acceptor.local_endpoint()};

    // Asio's own type, with Asio's members and tokens; what waits lies in the same kind of wheel.
    timingwheel::asio::steady_timer soon{context, 1ms};
    soon.async_wait([](auto) { std::puts("a steady_timer has expired"); });

    context.run();
}
