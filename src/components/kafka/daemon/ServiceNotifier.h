#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace timingwheel::inline v1::kafka {

/// Notifies systemd of the service's state, as sd_notify(3) describes: by datagrams to the socket
/// that NOTIFY_SOCKET names. Does nothing if there is no such variable.
///
/// Thread safety  none: one thread at a time
class ServiceNotifier {
public:
    using Clock = std::chrono::steady_clock;

    /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID of the environment.
    ServiceNotifier();
    ServiceNotifier(ServiceNotifier const&) = delete;
    ServiceNotifier& operator=(ServiceNotifier const&) = delete;
    ~ServiceNotifier();

    /// Lines of name=value: READY=1 and so on.
    void notify(std::string_view lines);
    /// The program lives: call it often. Notifies the watchdog at half of its time.
    void keepAlive(Clock::time_point now = Clock::now());

private:
    std::string address_;  // the bytes of a sockaddr_un; empty: there is none
    int socket_ = -1;
    Clock::duration half_{};  // of the watchdog's time; zero: there is none
    Clock::time_point next_ = Clock::time_point::min();
};

}  // namespace timingwheel::inline v1::kafka
