#include "components/kafka/daemon/ServiceNotifier.h"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace timingwheel::inline v1::kafka {

namespace {

std::string_view environment(char const* name) {
    char const* const value = std::getenv(name);
    return value == nullptr ? std::string_view{} : value;
}

std::int64_t numberIn(char const* name) {
    std::string_view const text = environment(name);
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

ServiceNotifier::ServiceNotifier() {
    std::string_view const name = environment("NOTIFY_SOCKET");
    if (name.empty()) return;
    sockaddr_un address{};
    if ((name[0] != '/' && name[0] != '@') || name.size() >= sizeof address.sun_path) {
        spdlog::warn(
            "NOTIFY_SOCKET is {}: systemd is not notified: it must begin with / or @, and "
            "have at most {} bytes",
            name, sizeof address.sun_path - 1);
        return;
    }
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';  // of Linux's abstract names
    socket_ = socket(AF_UNIX, SOCK_DGRAM, 0);
    address_.assign(reinterpret_cast<char const*>(&address),
                    offsetof(sockaddr_un, sun_path) + name.size());
    std::int64_t const process = numberIn("WATCHDOG_PID");
    if (process == 0 || process == getpid())
        half_ = std::chrono::microseconds{numberIn("WATCHDOG_USEC") / 2};
}

ServiceNotifier::~ServiceNotifier() {
    if (socket_ >= 0) close(socket_);
}

void ServiceNotifier::notify(std::string_view lines) {
    if (address_.empty()) return;
    auto const* const address = reinterpret_cast<sockaddr const*>(address_.data());
    if (sendto(socket_, lines.data(), lines.size(), 0, address,
               static_cast<socklen_t>(address_.size())) < 0)
        spdlog::warn("systemd is not notified of {}: {}", lines, std::strerror(errno));
}

void ServiceNotifier::keepAlive(Clock::time_point now) {
    if (half_ == Clock::duration::zero() || now < next_) return;
    next_ = now + half_;
    notify("WATCHDOG=1");
}

}  // namespace timingwheel::inline v1::kafka
