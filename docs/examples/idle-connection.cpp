// When something is to happen after a silence, and almost every packet pushes it back: idle
// connections, heartbeats, locks that are held for as long as somebody renews them.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <cstdio>
#include <memory>

using namespace std::chrono_literals;

class Connection {
public:
    Connection(timingwheel::SystemTimer& timer, std::unique_ptr<Connection>& place)
        : place_{place} {
        timer.schedule(idle_, 60s);  // no allocation: the member itself is the timer's entry
    }
    void onPacket() { idle_.reschedule(60s); }  // no lock either: one compare-and-set

private:
    void onIdle() {
        std::puts("closed after a minute of silence");
        place_.reset();  // a task may destroy the object that it belongs to
    }

    std::unique_ptr<Connection>& place_;
    timingwheel::TimerHook<&Connection::onIdle> idle_{*this};  // the last member: it goes first
};

int main() {
    timingwheel::ManualClock clock;
    timingwheel::SystemTimer timer{{.clock = clock}};

    std::unique_ptr<Connection> connection;
    connection = std::make_unique<Connection>(timer, connection);
    for (int packet = 0; packet < 100; ++packet) {
        clock.advance(59s);
        if (!connection) return 1;
        connection->onPacket();
    }
    clock.advance(60s);
    if (connection) return 1;

    // The same with a handle, for a task that is any callable.
    bool isLost = false;
    timingwheel::Timeout const lost = timer.newTimeout([&] { isLost = true; }, 10s);
    clock.advance(9s);
    if (!timer.reschedule(lost, 10s)) return 1;  // a heartbeat came
    clock.advance(9s);
    if (isLost) return 1;
    clock.advance(1s);
    if (timer.reschedule(lost, 10s)) return 1;  // too late: the task has run
    std::printf("the heartbeat is %s\n", isLost ? "lost" : "still there");
    return isLost ? 0 : 1;
}
