// When other threads use the timer of an event loop: the loop sleeps as long as it may, and is
// woken for what has become earlier, and when nothing is pending any more.

#include <timingwheel/ManualTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerLoop.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

struct EventFd {
    EventFd() = default;
    EventFd(EventFd const&) = delete;
    EventFd& operator=(EventFd const&) = delete;
    ~EventFd() { close(number); }
    int const number = eventfd(0, EFD_NONBLOCK);
};

class Loop final : public timingwheel::TimerLoop {
public:
    void run() {
        for (bool isOver = false; !isOver;) {
            int timeout = 0;
            {
                std::lock_guard const lock{mutex};
                timer.advanceTo(timer.clock().now());
                timeout = timer.pollTimeout();  // from now on it is told of what is earlier
                isOver = isIdle_ && timer.pendingTimeouts() == 0;
                isIdle_ = false;
            }
            if (isOver) break;
            pollfd self{.fd = wake_.number, .events = POLLIN, .revents = 0};
            ++waits;
            if (poll(&self, 1, timeout) > 0) {
                std::uint64_t times = 0;
                isOver = read(wake_.number, &times, sizeof times) < 0;
            }
        }
    }

    int told = 0;
    std::atomic<int> waits{0};

private:
    // Both are called on the thread that uses the timer, with the mutex held.
    void onEarlier(TimePoint) noexcept override {
        ++told;
        wake();
    }
    void onIdle() noexcept override {
        isIdle_ = true;
        wake();
    }
    void wake() const noexcept {
        std::uint64_t const once = 1;
        static_cast<void>(!write(wake_.number, &once, sizeof once));
    }

    EventFd wake_;
    bool isIdle_ = false;

public:
    std::mutex mutex;                                // protects what follows, and what is told
    timingwheel::ManualTimer timer{{.loop = this}};  // the last member: it ends first
};

class Connection {
public:
    bool isClosed = false;

private:
    void onIdle() { isClosed = true; }

public:
    timingwheel::TimerHook<&Connection::onIdle> idle{*this};
};

}  // namespace

int main() {
    Loop loop;
    Connection connection;
    std::thread network{[&] {
        auto const waitUntilItSleeps = [&](int waits) {
            while (loop.waits < waits) std::this_thread::sleep_for(1ms);
        };
        waitUntilItSleeps(1);  // for ever: nothing is pending
        {
            std::lock_guard const lock{loop.mutex};
            loop.timer.schedule(connection.idle, 1h);
            std::printf("an hour: told %d time\n", loop.told);
        }
        waitUntilItSleeps(2);  // for an hour
        {
            std::lock_guard const lock{loop.mutex};
            connection.idle.reschedule(2h);
            loop.timer.newTimeout([] {}, 3h).cancel();
            std::printf("two hours, and three: told %d time\n", loop.told);
            connection.idle.reschedule(20ms);
            std::printf("20 ms: told %d times\n", loop.told);
        }
    }};
    loop.run();
    network.join();

    int const waits = loop.waits;
    std::printf("closed: %s, the loop has waited less than ten times: %s\n",
                connection.isClosed ? "yes" : "no", waits < 10 ? "yes" : "no");
    return connection.isClosed && loop.told == 2 && waits < 10 ? 0 : 1;
}
