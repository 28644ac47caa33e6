// A server whose loop is epoll: the timer is one more descriptor in it, without a thread of its
// own. Other threads schedule and cancel as well: here one that works out answers.

#include <timingwheel/LoopTimer.h>
#include <timingwheel/TimerHook.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <queue>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace std::chrono_literals;

namespace {

int orExit(int result) {
    if (result >= 0) return result;
    std::perror("loop-epoll");
    std::exit(1);
}

sockaddr_in localhost(in_port_t port = 0) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = port;
    return address;
}
sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

/// A thread that works out answers, one after another.
class Worker {
public:
    ~Worker() {
        submit({});
        thread_.join();
    }
    void submit(std::function<void()> job) {
        std::lock_guard const lock{mutex_};
        jobs_.push(std::move(job));
        hasJob_.notify_one();
    }

private:
    void run() {
        for (;;) {
            std::unique_lock lock{mutex_};
            hasJob_.wait(lock, [this] { return !jobs_.empty(); });
            auto const job = std::move(jobs_.front());
            jobs_.pop();
            lock.unlock();
            if (!job) return;
            job();
        }
    }
    std::mutex mutex_;
    std::condition_variable hasJob_;
    std::queue<std::function<void()>> jobs_;
    std::thread thread_{[this] { run(); }};
};

/// Answers "ping" at once, and "work" when the worker is done. Nobody works on "hang": the request
/// times out. Closes a connection that is idle for a minute, or for 50 ms after "bye".
class Server {
public:
    Server() {
        sockaddr_in address = localhost();
        orExit(bind(listener_, generic(address), sizeof address));
        orExit(listen(listener_, 16));
        watch(listener_, kListener);
        watch(timer_.nativeHandle(), kTimer);
    }
    Server(Server const&) = delete;
    Server& operator=(Server const&) = delete;
    ~Server() {
        close(listener_);
        close(epoll_);
    }

    in_port_t port() const {
        sockaddr_in address{};
        socklen_t size = sizeof address;
        orExit(getsockname(listener_, generic(address), &size));
        return address.sin_port;
    }

    void run() {
        while (isRunning_) {
            std::array<epoll_event, 16> events;
            int const count = epoll_wait(epoll_, events.data(), events.size(), -1);
            for (int i = 0; i < count; ++i)
                onReadable(events[static_cast<std::size_t>(i)].data.u64);
        }
    }

    /// From any thread: what is due at once, the loop does at once.
    void stop() {
        timer_.newTimeout([this] { isRunning_ = false; }, 0ms);
    }

    int idle = 0;
    int late = 0;

private:
    using Number = std::uint64_t;
    static constexpr Number kTimer = 0;
    static constexpr Number kListener = 1;

    class Session {
    public:
        Session(Server& server, Number number, int fd) : server_{server}, number_{number}, fd_{fd} {
            server_.timer_.schedule(idle_, 60s);
        }
        Session(Session const&) = delete;
        Session& operator=(Session const&) = delete;
        ~Session() { close(fd_); }  // on the loop's thread, as are its tasks: none can run now

        void onReadable() {
            std::array<char, 64> text;
            ssize_t const size = read(fd_, text.data(), text.size());
            if (size <= 0) return server_.end(number_);
            std::string_view const request{text.data(), static_cast<std::size_t>(size)};
            idle_.reschedule(request == "bye" ? 50ms : 60s);
            onRequest(request);
        }
        void answer(std::string_view text) {
            orExit(static_cast<int>(write(fd_, text.data(), text.size())));
        }

    private:
        void onRequest(std::string_view request) {
            if (request == "ping") return answer("pong");
            if (request == "bye") return answer("bye");
            auto const tell = [&server = server_, number = number_](char const* text) {
                server.answer(number, text);
            };
            auto const timeout = server_.timer_.newTimeout(
                [tell, &late = server_.late] {
                    ++late;
                    tell("timed out");
                },
                request == "work" ? 30s : 50ms);
            if (request != "work") return;
            // On the worker's thread. If it wins, the answer goes out in the loop.
            server_.worker_.submit([tell, timeout, &timer = server_.timer_] {
                if (timeout.cancel()) timer.newTimeout([tell] { tell("done"); }, 0ms);
            });
        }
        void onIdle() {
            ++server_.idle;
            server_.end(number_);  // destroys this session
        }

        Server& server_;
        Number number_;
        int fd_;
        timingwheel::TimerHook<&Session::onIdle> idle_{*this};
    };

    void watch(int fd, Number number) {
        epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
        orExit(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event));
    }
    void onReadable(Number number) {
        if (number == kTimer) {
            timer_.runDue();
        } else if (number == kListener) {
            int const client = orExit(accept(listener_, nullptr, nullptr));
            ++last_;
            sessions_[last_] = std::make_unique<Session>(*this, last_, client);
            watch(client, last_);
        } else if (auto const session = sessions_.find(number); session != sessions_.end()) {
            session->second->onReadable();
        }
    }
    void answer(Number number, std::string_view text) {
        auto const session = sessions_.find(number);  // it may have ended meanwhile
        if (session != sessions_.end()) session->second->answer(text);
    }
    void end(Number number) { sessions_.erase(number); }

    int epoll_ = orExit(epoll_create1(EPOLL_CLOEXEC));
    int listener_ = orExit(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    bool isRunning_ = true;
    Number last_ = kListener;
    std::map<Number, std::unique_ptr<Session>> sessions_;
    timingwheel::LoopTimer timer_;  // requests have 50 ms; for idle connections alone 100 ms do
    Worker worker_;                 // ends first, then the timer, then the sessions
};

class Client {
public:
    explicit Client(in_port_t port) {
        sockaddr_in address = localhost(port);
        orExit(connect(fd_, generic(address), sizeof address));
    }
    Client(Client const&) = delete;
    Client& operator=(Client const&) = delete;
    ~Client() { close(fd_); }

    std::string ask(std::string_view request) {
        orExit(static_cast<int>(write(fd_, request.data(), request.size())));
        return hear();
    }
    /// Empty when the server has closed the connection.
    std::string hear() {
        std::array<char, 64> text;
        int const size = orExit(static_cast<int>(read(fd_, text.data(), text.size())));
        return {text.data(), static_cast<std::size_t>(size)};
    }

private:
    int fd_ = orExit(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
};

}  // namespace

int main() {
    Server server;
    std::thread loop{[&server] { server.run(); }};
    {
        Client client{server.port()};
        for (char const* const request : {"ping", "work", "hang", "bye"})
            std::printf("%s: %s\n", request, client.ask(request).c_str());
        std::printf("then nothing: %s\n", client.hear().empty() ? "closed" : "not closed");
    }
    server.stop();
    loop.join();
    std::printf("%d idle, %d late\n", server.idle, server.late);
}
