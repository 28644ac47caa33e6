// A server and its load, each in a process: prints what one contender needed as a line of JSON.

#include "Protocol.h"
#include "Server.h"
#include "Stock.h"
#include "Wheel.h"
#include "WheelDeadline.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

template <template <class...> class Timeout>
void serve(Sizes const& sizes, int told) {
    boost::asio::io_context context{1};
    Server<Timeout> server{context, sizes};
    std::uint16_t const port = server.port();
    if (::write(told, &port, sizeof port) != sizeof port) return;
    context.run();
}

void demand(bool holds, char const* what) {
    if (!holds) throw std::runtime_error{what};
}

sockaddr_in addressOf(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

struct Answers {
    std::vector<std::int64_t> times;
    std::int64_t sent = 0;

    std::string json(char const* name) {
        std::sort(times.begin(), times.end());
        auto const at = [this](double share) {
            if (times.empty()) return 0.0;
            auto const i = static_cast<std::size_t>(share * static_cast<double>(times.size() - 1));
            return static_cast<double>(times[i]) / 1e3;
        };
        std::array<char, 256> text{};
        std::snprintf(text.data(), text.size(),
                      "\"%s\": {\"sent\": %lld, \"answered\": %zu, \"p50\": %.1f, \"p99\": %.1f, "
                      "\"p99.9\": %.1f, \"longest\": %.1f}",
                      name, static_cast<long long>(sent), times.size(), at(.5), at(.99), at(.999),
                      at(1));
        return text.data();
    }
};

// Sends by a timetable, whether the last packet was answered or not.
template <class Send, class Receive>
Answers openLoop(std::uint32_t rate, double seconds, Send send, Receive receive) {
    Answers answers;
    auto const count = static_cast<std::int64_t>(rate * seconds);
    answers.times.reserve(static_cast<std::size_t>(count));
    auto const begin = now();
    auto const step = 1'000'000'000LL / rate;
    while (answers.sent < count) {
        for (auto due = begin + answers.sent * step; due <= now() && answers.sent < count;
             due += step)
            send(due, answers.sent++);
        receive(answers);
        std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    auto const end = now() + 3'000'000'000LL;
    while (std::ssize(answers.times) < count && now() < end) receive(answers);
    return answers;
}

class UdpLoad {
public:
    UdpLoad(std::uint16_t port, Sizes const& sizes)
        : sizes_{sizes}, socket_{::socket(AF_INET, SOCK_DGRAM, 0)} {
        int const size = 1 << 22;
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
        auto const address = addressOf(port);
        demand(::connect(socket_, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0,
               "no server");
    }
    ~UdpLoad() { ::close(socket_); }
    UdpLoad(UdpLoad const&) = delete;
    UdpLoad& operator=(UdpLoad const&) = delete;

    State state() {
        send({now(), 0, Packet::kState});
        State state;
        pollfd one{socket_, POLLIN, 0};
        do demand(::poll(&one, 1, 20'000) == 1, "the server does not answer");
        while (::recv(socket_, &state, sizeof state, 0) != sizeof state);
        return state;
    }

    // A packet for each session, few at a time.
    std::int64_t open() {
        std::int64_t answered = 0;
        for (std::uint32_t opened = 0; opened < sizes_.sessions;) {
            std::uint32_t const some = std::min(64U, sizes_.sessions - opened);
            opened += some;
            for (std::uint32_t i = 0; i < some; ++i) send({now(), nextSession(), Packet::kTouch});
            for (std::uint32_t i = 0; i < some; ++i) {
                Packet packet;
                pollfd one{socket_, POLLIN, 0};
                demand(::poll(&one, 1, 20'000) == 1, "a packet is lost");
                answered += ::recv(socket_, &packet, sizeof packet, 0) == sizeof packet;
            }
        }
        return answered;
    }

    Answers load(double seconds) {
        return openLoop(
            sizes_.rate, seconds,
            [this](std::int64_t due, std::int64_t) {
                send({due, nextSession(), Packet::kTouch});
            },
            [this](Answers& answers) {
                Packet packet;
                while (::recv(socket_, &packet, sizeof packet, MSG_DONTWAIT) == sizeof packet)
                    if (packet.kind == Packet::kTouch) answers.times.push_back(now() - packet.due);
            });
    }

    void storm() { send({now(), 0, Packet::kStorm}); }

private:
    // All in turn, in an order in which neighbours in memory are far apart.
    std::uint32_t nextSession() {
        constexpr std::uint64_t kStride = 514'229;  // a prime
        next_ = static_cast<std::uint32_t>((next_ + kStride) % sizes_.sessions);
        return next_;
    }
    void send(Packet const& packet) { ::send(socket_, &packet, sizeof packet, 0); }

    Sizes sizes_;
    int socket_;
    std::uint32_t next_ = 0;
};

double perMillion(State const& before, State const& after, Answers const& answers) {
    return static_cast<double>(after.processorTime - before.processorTime) / 1e3 /
           static_cast<double>(std::max<std::int64_t>(answers.sent, 1));  // us each: s a million
}

void measure(Sizes const& sizes, std::uint16_t port) {
    UdpLoad udp{port, sizes};
    auto const empty = udp.state();
    auto const opened = udp.open();
    auto const full = udp.state();
    auto steady = udp.load(sizes.seconds);
    auto const after = udp.state();

    udp.storm();
    udp.state();  // what setting these costs is no part of the storm
    auto const idle = std::chrono::duration<double>{sizes.stormIdle}.count();
    auto during = udp.load(idle + 2);
    auto end = udp.state();
    for (int i = 0; i < 100 && end.closed < sizes.storm; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{100});
        end = udp.state();
    }

    std::printf("{\"sessions\": %lld, \"bytes\": %.1f, \"processor\": %.4f, %s, ",
                static_cast<long long>(opened),
                static_cast<double>(full.allocated - empty.allocated) / sizes.sessions,
                perMillion(full, after, steady), steady.json("steady").c_str());
    std::printf("\"closed\": %lld, \"open\": %lld, \"early\": %lld, \"closing\": %.3f, %s}\n",
                static_cast<long long>(end.closed), static_cast<long long>(end.open - empty.open),
                static_cast<long long>(end.early),
                static_cast<double>(end.lastClose - end.stormDue) / 1e6,
                during.json("storm").c_str());
}

using Serve = void (*)(Sizes const&, int);

Serve contender(std::string const& name) {
    if (name == "stock") return serve<Stock>;
    if (name == "wheel") return serve<Wheel>;
    if (name == "wheel-deadline") return serve<WheelDeadline>;
    throw std::runtime_error{"which? stock, wheel, wheel-deadline"};
}

int run(std::string const& name, bool isQuick) {
    Sizes sizes;
    if (isQuick) {
        sizes.sessions = 20'000;
        sizes.storm = 5'000;
        sizes.rate = 4'000;
        sizes.seconds = 1;
        sizes.idle = std::chrono::minutes{10};
        sizes.stormIdle = std::chrono::milliseconds{500};
    }
    Serve const server = contender(name);
    std::array<int, 2> pipe{};
    demand(::pipe(pipe.data()) == 0, "no pipe");
    pid_t const child = ::fork();
    demand(child >= 0, "no process");
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        server(sizes, pipe[1]);
        std::_Exit(0);
    }
    int result = 0;
    try {
        std::uint16_t port = 0;
        ::close(pipe[1]);
        demand(::read(pipe[0], &port, sizeof port) == sizeof port, "the server did not start");
        measure(sizes, port);
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        result = 1;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? argv[1] : "", argc > 2 && std::string{argv[2]} == "--quick");
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
