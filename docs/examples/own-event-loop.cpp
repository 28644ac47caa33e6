// When one loop alone uses its timer: it sleeps for pollTimeout(), then calls advanceTo(now). No
// thread, no lock. A server takes a LoopTimer: see idle-connections.cpp.

#include <timingwheel/ManualTimer.h>

#include <cstdio>
#include <poll.h>
#include <unistd.h>

using namespace std::chrono_literals;

int main() {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    auto const [in, out] = ends;

    bool isAnswered = false;
    bool isOver = false;
    timingwheel::ManualTimer timer;
    timingwheel::Timeout const giveUp = timer.newTimeout([&] { isOver = true; }, 10s);
    // Stands for the peer, which answers after a while.
    timer.newTimeout([peer = out] { static_cast<void>(!write(peer, "!", 1)); }, 30ms);

    int rounds = 0;
    while (!isOver) {
        ++rounds;
        pollfd socket{.fd = in, .events = POLLIN, .revents = 0};
        if (poll(&socket, 1, timer.pollTimeout()) > 0) {  // rounded up: it does not spin
            isAnswered = giveUp.cancel();
            isOver = true;
        }
        timer.advanceTo(timer.clock().now());  // runs what is due
    }
    std::puts(isAnswered ? "answered" : "gave up");
    close(in);
    close(out);
    return isAnswered && rounds < 20 ? 0 : 1;
}
