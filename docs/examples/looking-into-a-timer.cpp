// When a timer in production does not do what you expect: an admin page with its metrics for
// Prometheus and with what is pending; what errors say, and where a task's exception goes.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/prometheus.h>
#include <timingwheel/tagged.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <netinet/in.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;
using timingwheel::PendingTimeout;
using timingwheel::tagged;

struct Connection {
    std::string peer;
    void onIdle() {}
    timingwheel::TimerHook<&Connection::onIdle> idle{*this};
};

// Writes the ten timeouts that come next. Of a hook the tag is its object, which lives here.
void writePending(std::ostream& page, timingwheel::SystemTimer const& timer) {
    std::vector<PendingTimeout> all;
    timer.pending([&](PendingTimeout const& each) { all.push_back(each); });
    std::ranges::sort(all, {}, &PendingTimeout::deadline);
    page << all.size() << " are pending\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 10); ++i) {
        page << "in " << (all[i].deadline - timer.clock().now()) / 1s << " s: ";
        if (all[i].kind == PendingTimeout::Kind::hook)
            page << "idle, " << static_cast<Connection const*>(all[i].tag)->peer << '\n';
        else
            page << (all[i].tag ? static_cast<char const*>(all[i].tag) : "no tag") << '\n';
    }
}

std::string readUntil(int socket, std::string const& end) {
    std::string text;
    for (char letter; !text.ends_with(end) && ::read(socket, &letter, 1) == 1;) text += letter;
    return text;
}

void answer(int socket, timingwheel::SystemTimer const& timer) {
    std::ostringstream page;
    page << "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n";
    if (readUntil(socket, "\r\n\r\n").starts_with("GET /metrics "))
        timingwheel::writePrometheus(page, timer.statistics(), {{"service", "shop"}});
    else
        writePending(page, timer);
    std::string const text = page.str();
    if (::write(socket, text.data(), text.size()) < 0) std::cerr << "nobody reads\n";
    ::close(socket);
}

// What curl does. Prints the lines of the page that have the word.
void get(sockaddr_in address, std::string const& path, std::string const& word) {
    int const socket = ::socket(AF_INET, SOCK_STREAM, 0);
    std::string const request = "GET " + path + " HTTP/1.0\r\n\r\n";
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::write(socket, request.data(), request.size()) < 0)
        std::cout << "nobody answers\n";
    readUntil(socket, "\r\n\r\n");
    for (std::string line; !(line = readUntil(socket, "\n")).empty();)
        if (line.find(word) != std::string::npos) std::cout << line;
    ::close(socket);
}

// Does what is wrong, and prints what the error says.
void attempt(std::function<void()> const& wrong) {
    try {
        wrong();
    } catch (std::exception const& error) {
        std::cout << error.what() << '\n';
    }
}

int main() {
    attempt([] { timingwheel::SystemTimer{{.wheelSize = 1}}; });
    timingwheel::ManualClock clock;
    timingwheel::SystemTimer timer{{.name = "orders",
                                    .clock = clock,
                                    .maxPendingTimeouts = 20,
                                    .errorHandler = [](auto& failed) {
                                        attempt([&] { std::rethrow_exception(failed.exception); });
                                    }}};
    timer.newTimeout([] { throw std::runtime_error{"the mail server is down"}; }, 1s);
    timer.newTimeout(tagged("retry", [] {}), 30s);
    timer.scheduleAtFixedRate(tagged("heartbeat", [] {}), 10s, 10s);
    Connection connection{"192.0.2.7"};
    timer.schedule(connection.idle, 60s);
    for (int i = 0; i < 16; ++i) timer.newTimeout(tagged("order", [] {}), 1h);
    attempt([&] { timer.newTimeout([] {}, 1s); });
    clock.advance(1s);

    int const listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const bare = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (::bind(listener, bare, size) != 0 || ::listen(listener, 5) != 0 ||
        ::getsockname(listener, bare, &size) != 0)
        return 1;
    std::cout << "~ http://127.0.0.1:" << ntohs(address.sin_port) << "/pending\n";
    std::thread server{[&] {
        for (int i = 0; i < 2; ++i) answer(::accept(listener, nullptr, nullptr), timer);
    }};
    get(address, "/metrics", "pending{");
    get(address, "/pending", "");
    server.join();
    ::close(listener);
}
