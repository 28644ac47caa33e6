// When a server closes connections that have fallen silent, and heartbeats keep the others: a hook
// in each connection, pushed back with every packet, in an event loop of one's own (epoll, Linux).

#include <timingwheel/LoopTimer.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <map>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr int kConnections = 3'000;
constexpr int kOneFallsSilent = 3;  // each third one does, after a few heartbeats
constexpr auto kHeartbeat = 50ms;
constexpr auto kIdle = 200ms;
constexpr auto kTick = 2ms;  // a hundredth of it: 100 ms and more where kIdle is minutes

int check(int result) {
    if (result < 0) throw std::system_error{errno, std::generic_category()};
    return result;
}

class Socket {
public:
    explicit Socket(int fd) : fd_{check(fd)} {}
    Socket(Socket&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    ~Socket() {
        if (fd_ >= 0) close(fd_);
    }
    operator int() const { return fd_; }

private:
    int fd_;
};

class Server {
public:
    explicit Server(timingwheel::LoopTimer& timer) : timer_{timer} { watch(timer_.nativeHandle()); }

    void add(Socket socket) {
        int const fd = socket;
        watch(fd);
        connections_.try_emplace(fd, *this, std::move(socket));
    }

    // One turn of the loop: what has come in, and what is due.
    void turn() {
        std::array<epoll_event, 256> events{};
        int const ready = check(epoll_wait(loop_, events.data(), events.size(), -1));
        bool isDue = false;
        for (int i = 0; i < ready; ++i) {
            int const fd = events[static_cast<std::size_t>(i)].data.fd;
            if (fd == timer_.nativeHandle())
                isDue = true;
            else
                connections_.at(fd).onPacket();
        }
        if (isDue) timer_.runDue();  // last: it destroys connections
    }

    int packets = 0;
    int closed = 0;
    int closedTooEarly = 0;

private:
    class Connection {
    public:
        Connection(Server& server, Socket socket) : server_{server}, socket_{std::move(socket)} {
            server_.timer_.schedule(idle_, kIdle);  // allocates nothing
        }

        void onPacket() {
            ssize_t const length = read();
            if (length > 0)
                idle_.reschedule(kIdle);  // some nanoseconds
            else if (length == 0)
                server_.connections_.erase(socket_);  // the peer has closed; this destroys *this
        }

    private:
        // Returns what recv does. After an error of the connection the next call returns 0.
        ssize_t read() {
            std::array<char, 64> packet{};
            ssize_t const length = recv(socket_, packet.data(), packet.size(), MSG_DONTWAIT);
            if (length > 0) {
                ++server_.packets;
                lastHeard_ = server_.timer_.clock().now();
            }
            return length;
        }

        void onIdle() {
            // What has come in and was not read yet counts: then it is this loop that is late.
            if (read() > 0) return server_.timer_.schedule(idle_, kIdle);
            ++server_.closed;
            if (server_.timer_.clock().now() - lastHeard_ < kIdle) ++server_.closedTooEarly;
            server_.connections_.erase(socket_);  // a task may destroy the object that it is in
        }

        Server& server_;
        Socket socket_;
        timingwheel::Clock::TimePoint lastHeard_ = server_.timer_.clock().now();
        timingwheel::TimerHook<&Connection::onIdle> idle_{*this};  // the last member: it goes first
    };

    void watch(int fd) {
        epoll_event interest{.events = EPOLLIN, .data = {.fd = fd}};
        check(epoll_ctl(loop_, EPOLL_CTL_ADD, fd, &interest));
    }

    timingwheel::LoopTimer& timer_;
    Socket loop_{epoll_create1(0)};
    std::map<int, Connection> connections_;
};

// Makes TCP connections within this machine.
class Loopback {
public:
    Loopback() {
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        check(bind(listener_, anyAddress(), size_));
        check(listen(listener_, SOMAXCONN));
        check(getsockname(listener_, anyAddress(), &size_));
    }

    std::pair<Socket, Socket> connect() {
        Socket peer{socket(AF_INET, SOCK_STREAM, 0)};
        check(::connect(peer, anyAddress(), size_));
        return {std::move(peer), Socket{accept(listener_, nullptr, nullptr)}};
    }

private:
    sockaddr* anyAddress() { return reinterpret_cast<sockaddr*>(&address_); }

    Socket listener_{socket(AF_INET, SOCK_STREAM, 0)};
    sockaddr_in address_{};
    socklen_t size_ = sizeof address_;
};

// As many connections as the limit of open files allows: two sockets for each.
int affordableConnections() {
    rlimit limit{};
    check(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    check(setrlimit(RLIMIT_NOFILE, &limit));
    return static_cast<int>(std::min<rlim_t>(kConnections, (limit.rlim_cur - 16) / 2));
}

// True if the other end was closed.
bool isClosed(Socket const& socket) {
    char end = 0;
    return recv(socket, &end, 1, MSG_DONTWAIT) == 0;
}

}  // namespace

int main() {
    timingwheel::LoopTimer timer{{.tick = kTick}};
    Server server{timer};

    // The peers live in the same loop, and use the same timer.
    Loopback network;
    std::vector<Socket> silent, alive;
    int const connections = affordableConnections();
    for (int i = 0; i < connections; ++i) {
        auto [peer, accepted] = network.connect();
        server.add(std::move(accepted));
        bool const fallsSilent = i % kOneFallsSilent == 0;
        timer.scheduleAtFixedRate(
            [fd = int{peer}, left = fallsSilent ? i % 5 : INT_MAX](auto const& self) mutable {
                if (left-- == 0)
                    self.cancel();
                else
                    static_cast<void>(send(fd, "!", 1, MSG_NOSIGNAL));
            },
            i % 50 * 1ms, kHeartbeat);
        (fallsSilent ? silent : alive).push_back(std::move(peer));
    }

    bool isOver = false;
    timer.newTimeout([&] { isOver = true; }, 700ms);  // more than three times kIdle
    while (!isOver || server.closed < static_cast<int>(silent.size())) server.turn();

    auto const closedSilent = std::ranges::count_if(silent, isClosed);
    auto const closedAlive = std::ranges::count_if(alive, isClosed);
    std::printf("%zu fell silent: %td are closed, %d of them too early\n", silent.size(),
                closedSilent, server.closedTooEarly);
    std::printf("%zu sent heartbeats: %td are closed\n", alive.size(), closedAlive);
    std::printf("~ %d heartbeats were heard\n", server.packets);
    if (connections < kConnections) {
        std::puts("~ the limit of open files allows no more connections");
        return 77;  // for the test: skipped
    }
    return server.closed == closedSilent && server.closedTooEarly == 0 && closedAlive == 0 ? 0 : 1;
}
