// What README.md shows: an event loop, and a test without sleep.

#include <timingwheel/LoopTimer.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <atomic>
#include <cstdio>
#include <sys/epoll.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

void runLoop(int loop) {
    bool isOver = false;
    timingwheel::LoopTimer timer{{.tick = 100ms}};
    epoll_event interest{.events = EPOLLIN, .data = {.fd = timer.nativeHandle()}};
    epoll_ctl(loop, EPOLL_CTL_ADD, timer.nativeHandle(), &interest);

    timer.newTimeout([&] { isOver = true; }, 2s);  // from any thread
    while (!isOver) {
        epoll_event event;
        if (epoll_wait(loop, &event, 1, -1) != 1) continue;
        if (event.data.fd == timer.nativeHandle()) timer.runDue();  // runs it on this thread
        // else it is one of your sockets
    }
}

class Session {
public:
    explicit Session(timingwheel::Timer& timer)
        : closing_{timer.newTimeout([this] { isClosed_ = true; }, 30min)} {}
    bool isClosed() const { return isClosed_; }

private:
    std::atomic<bool> isClosed_ = false;
    timingwheel::ScopedTimeout closing_;
};

bool closesAfterHalfAnHour() {
    timingwheel::ManualClock clock;
    timingwheel::SystemTimer timer{{.clock = clock}};
    Session session{timer};
    clock.advance(30min);  // takes no time; when it returns, what was due has run
    return session.isClosed();
}

}  // namespace

int main() {
    int const loop = epoll_create1(0);
    runLoop(loop);
    close(loop);
    std::puts("the loop is over");
    if (closesAfterHalfAnHour()) std::puts("the session is closed");
}
