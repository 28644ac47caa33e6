#include "components/kafka/daemon/ServiceNotifier.h"

#include <support/TemporaryFile.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace timingwheel::test::kafka {
namespace {

using namespace std::chrono_literals;
using timingwheel::kafka::ServiceNotifier;

/// A variable of the environment, while it lives.
class Variable {
public:
    Variable(char const* name, std::string const& value) : name_{name} {
        setenv(name, value.c_str(), 1);
    }
    Variable(Variable const&) = delete;
    Variable& operator=(Variable const&) = delete;
    ~Variable() { unsetenv(name_); }

private:
    char const* name_;
};

/// The end of systemd: @ begins an abstract name.
class Listener {
public:
    explicit Listener(std::string const& name) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name.data(), name.size());
        if (name[0] == '@') address.sun_path[0] = '\0';
        auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        if (bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0)
            ADD_FAILURE() << name << ": " << std::strerror(errno);
    }
    Listener(Listener const&) = delete;
    Listener& operator=(Listener const&) = delete;
    ~Listener() { close(socket_); }

    /// The next datagram, if one has come.
    std::optional<std::string> heard() const {
        char bytes[200];
        auto const size = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
        if (size < 0) return std::nullopt;
        return std::string(bytes, static_cast<std::size_t>(size));
    }

private:
    int socket_ = socket(AF_UNIX, SOCK_DGRAM, 0);
};

TEST(ServiceNotifier, SendsADatagramToTheSocketOfThatPath) {
    TemporaryFile const file;
    Listener const systemd{file.path.string()};
    Variable const variable{"NOTIFY_SOCKET", file.path.string()};
    ServiceNotifier service;
    EXPECT_EQ(systemd.heard(), std::nullopt);
    service.notify("READY=1\nSTATUS=all is well");
    EXPECT_EQ(systemd.heard(), "READY=1\nSTATUS=all is well");
    service.keepAlive();  // nobody watches
    EXPECT_EQ(systemd.heard(), std::nullopt);
}

TEST(ServiceNotifier, SendsToAnAbstractName) {
    std::string const name = "@timingwheel's test " + std::to_string(getpid());
    Listener const systemd{name};
    Variable const variable{"NOTIFY_SOCKET", name};
    ServiceNotifier{}.notify("STOPPING=1");
    EXPECT_EQ(systemd.heard(), "STOPPING=1");
}

TEST(ServiceNotifier, KeepsTheWatchdogQuietAtHalfOfItsTime) {
    std::string const name = "@timingwheel's watchdog " + std::to_string(getpid());
    Listener const systemd{name};
    Variable const socket{"NOTIFY_SOCKET", name};
    Variable const time{"WATCHDOG_USEC", "20000000"};
    std::optional<Variable> process{std::in_place, "WATCHDOG_PID", std::to_string(getpid())};
    ServiceNotifier service;
    auto const now = ServiceNotifier::Clock::now();
    service.keepAlive(now);
    EXPECT_EQ(systemd.heard(), "WATCHDOG=1");
    service.keepAlive(now + 9'999ms);
    EXPECT_EQ(systemd.heard(), std::nullopt);
    service.keepAlive(now + 10s);
    EXPECT_EQ(systemd.heard(), "WATCHDOG=1");

    process.reset();
    process.emplace("WATCHDOG_PID", std::to_string(getpid() + 1));  // another process is watched
    ServiceNotifier{}.keepAlive(now);
    EXPECT_EQ(systemd.heard(), std::nullopt);
}

TEST(ServiceNotifier, DoesNothingIfNobodyAsks) {
    RecordProperty("keeps", "the log");
    unsetenv("NOTIFY_SOCKET");
    ServiceNotifier service;
    service.notify("READY=1");
    service.keepAlive();
    for (std::string const& bad : {std::string{"relative"}, "/" + std::string(200, 'x')}) {
        Variable const variable{"NOTIFY_SOCKET", bad};
        testing::internal::CaptureStdout();
        ServiceNotifier{}.notify("READY=1");
        EXPECT_THAT(testing::internal::GetCapturedStdout(),
                    testing::HasSubstr("NOTIFY_SOCKET is " + bad + ": systemd is not notified"));
    }
}

TEST(ServiceNotifier, GoesOnIfSystemdDoesNotListen) {
    RecordProperty("keeps", "the log");
    Variable const variable{"NOTIFY_SOCKET", "@timingwheel's nobody"};
    testing::internal::CaptureStdout();
    ServiceNotifier{}.notify("READY=1");
    EXPECT_THAT(testing::internal::GetCapturedStdout(),
                testing::HasSubstr("systemd is not notified of READY=1: "));
}

}  // namespace
}  // namespace timingwheel::test::kafka
