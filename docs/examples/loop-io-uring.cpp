// A server whose loop is io_uring: the timer's descriptor is polled in the ring, and all timers of
// the server cost the kernel one.

#include <timingwheel/LoopTimer.h>
#include <timingwheel/TimerHook.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <liburing.h>
#include <map>
#include <memory>
#include <netinet/in.h>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

/// Of a call that returns a negative error number, as liburing's do.
int orExit(int result) {
    if (result >= 0) return result;
    std::fprintf(stderr, "loop-io-uring: %s\n", std::strerror(-result));
    std::exit(1);
}
int orExitByErrno(int result) { return orExit(result < 0 ? -errno : result); }

sockaddr_in localhost(in_port_t port = 0) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = port;
    return address;
}
sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

class Ring {
public:
    Ring() {
        int const result = io_uring_queue_init(64, &ring_, 0);
        if (result >= 0) return;
        std::printf("~ this system lets nobody use io_uring: %s\n", std::strerror(-result));
        std::exit(77);
    }
    Ring(Ring const&) = delete;
    Ring& operator=(Ring const&) = delete;
    ~Ring() { io_uring_queue_exit(&ring_); }

    /// Submits what `prepare` makes. Its completion will have this number.
    template <class Prepare>
    void submit(std::uint64_t number, Prepare&& prepare) {
        for (;;) {
            if (io_uring_sqe* const submission = io_uring_get_sqe(&ring_)) {
                prepare(submission);
                return io_uring_sqe_set_data64(submission, number);
            }
            orExit(io_uring_submit(&ring_));  // the ring was full
        }
    }
    struct Completion {
        std::uint64_t number;
        int result;
    };
    Completion wait() {
        orExit(io_uring_submit_and_wait(&ring_, 1));
        io_uring_cqe* completion = nullptr;
        orExit(io_uring_wait_cqe(&ring_, &completion));
        Completion const copy{completion->user_data, completion->res};
        io_uring_cqe_seen(&ring_, completion);
        return copy;
    }

private:
    io_uring ring_{};
};

/// Says back what it hears. Closes a connection that is idle for a minute, or for 50 ms after
/// "bye".
class Server {
public:
    Server() {
        sockaddr_in address = localhost();
        orExitByErrno(bind(listener_, generic(address), sizeof address));
        orExitByErrno(listen(listener_, 16));
    }
    Server(Server const&) = delete;
    Server& operator=(Server const&) = delete;
    ~Server() { close(listener_); }

    in_port_t port() const {
        sockaddr_in address{};
        socklen_t size = sizeof address;
        orExitByErrno(getsockname(listener_, generic(address), &size));
        return address.sin_port;
    }

    void run() {
        awaitTimer();
        awaitClient();
        while (isRunning_) {
            auto const [number, result] = ring_.wait();
            if (number == kTimer) {
                timer_.runDue();
                awaitTimer();
            } else if (number == kListener) {
                ++last_;
                sessions_[last_] = std::make_unique<Session>(*this, last_, orExit(result));
                awaitClient();
            } else if (auto const session = sessions_.find(number); session != sessions_.end()) {
                session->second->onBytes(result);
            }
        }
    }

    /// From any thread: what is due at once, the loop does at once.
    void stop() {
        timer_.newTimeout([this] { isRunning_ = false; }, 0ms);
    }

    int idle = 0;

private:
    using Number = std::uint64_t;
    static constexpr Number kTimer = 0;
    static constexpr Number kListener = 1;

    class Session {
    public:
        Session(Server& server, Number number, int fd) : server_{server}, number_{number}, fd_{fd} {
            server_.timer_.schedule(idle_, 60s);
            awaitBytes();
        }
        Session(Session const&) = delete;
        Session& operator=(Session const&) = delete;
        ~Session() { close(fd_); }  // on the loop's thread, as are its tasks: none can run now

        void onBytes(int size) {
            if (size <= 0) return server_.end(number_);
            std::string_view const text{text_.data(), static_cast<std::size_t>(size)};
            idle_.reschedule(text == "bye" ? 50ms : 60s);
            orExitByErrno(static_cast<int>(write(fd_, text.data(), text.size())));
            awaitBytes();
        }

    private:
        void awaitBytes() {
            server_.ring_.submit(number_, [this](io_uring_sqe* receive) {
                io_uring_prep_recv(receive, fd_, text_.data(), text_.size(), 0);
            });
        }
        void onIdle() {
            ++server_.idle;
            shutdown(fd_, SHUT_RDWR);  // ends the read, and that the session
        }

        Server& server_;
        Number number_;
        int fd_;
        std::array<char, 64> text_{};
        timingwheel::TimerHook<&Session::onIdle> idle_{*this};
    };

    void awaitTimer() {
        ring_.submit(kTimer, [this](io_uring_sqe* poll) {
            io_uring_prep_poll_add(poll, timer_.nativeHandle(), POLLIN);
        });
    }
    void awaitClient() {
        ring_.submit(kListener, [this](io_uring_sqe* accept) {
            io_uring_prep_accept(accept, listener_, nullptr, nullptr, SOCK_CLOEXEC);
        });
    }
    void end(Number number) { sessions_.erase(number); }

    int listener_ = orExitByErrno(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    bool isRunning_ = true;
    Number last_ = kListener;
    std::map<Number, std::unique_ptr<Session>> sessions_;
    timingwheel::LoopTimer timer_;
    Ring ring_;  // ends first: the kernel writes into the sessions
};

/// What a client hears when it says `words` one after another, and then no more.
void talk(in_port_t port, std::initializer_list<std::string_view> words) {
    int const fd = orExitByErrno(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = localhost(port);
    orExitByErrno(connect(fd, generic(address), sizeof address));
    std::array<char, 64> text;
    for (std::string_view const word : words) {
        orExitByErrno(static_cast<int>(write(fd, word.data(), word.size())));
        int const size = orExitByErrno(static_cast<int>(read(fd, text.data(), text.size())));
        std::printf("%.*s\n", size, text.data());
    }
    bool const isClosed = read(fd, text.data(), text.size()) == 0;
    std::printf("then nothing: %s\n", isClosed ? "closed" : "not closed");
    close(fd);
}

}  // namespace

int main() {
    Server server;
    std::thread loop{[&server] { server.run(); }};
    talk(server.port(), {"hello", "again", "bye"});
    server.stop();
    loop.join();
    std::printf("%d idle\n", server.idle);
}
