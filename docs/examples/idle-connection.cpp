// When something is to happen after a silence, and almost every packet pushes it back: idle
// connections, heartbeats, locks that are held for as long as somebody renews them.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>

using namespace std::chrono_literals;

class Connections;

class Connection final {  // a class to derive from would call idle_.cancelAndWait() when it goes
public:
    Connection(Connections& all, int id) : all_{all}, id_{id} {}

    void open(timingwheel::SystemTimer& timer) { timer.schedule(idle_, 60s); }  // no allocation
    bool onPacket() { return idle_.reschedule(60s); }  // no lock: one compare-and-set

private:
    void onIdle();  // on the timer's thread

    Connections& all_;
    int const id_;
    timingwheel::TimerHook<&Connection::onIdle> idle_{*this};  // the last member: it goes first
};

// Used by the threads that receive packets, and by the timer's.
class Connections {
public:
    void open(timingwheel::SystemTimer& timer, int id) {
        std::lock_guard const lock{mutex_};
        all_[id] = std::make_shared<Connection>(*this, id);
        all_[id]->open(timer);
    }

    // Who handles a packet shares the connection: onIdle cannot destroy it meanwhile. False if the
    // packet came too late.
    bool onPacket(int id) {
        auto const connection = find(id);
        return connection && connection->onPacket();
    }

    void close(int id) {
        std::unique_lock lock{mutex_};
        auto const closed = all_.extract(id);
        // It must not die under the lock: its destructor waits for onIdle, which takes the lock.
        lock.unlock();
    }

    std::shared_ptr<Connection> find(int id) {
        std::lock_guard const lock{mutex_};
        auto const found = all_.find(id);
        return found == all_.end() ? nullptr : found->second;
    }

private:
    std::mutex mutex_;
    std::map<int, std::shared_ptr<Connection>> all_;
};

void Connection::onIdle() {
    std::puts("closed after a minute of silence");
    all_.close(id_);  // a task may destroy the object that it belongs to
}

int main() {
    Connections connections;
    std::atomic<bool> isLost{false};  // the task below runs on the timer's thread
    timingwheel::ManualClock clock;
    timingwheel::SystemTimer timer{{.clock = clock}};  // stops before what its tasks use goes

    connections.open(timer, 7);
    for (int packet = 0; packet < 100; ++packet) {
        clock.advance(59s);
        if (!connections.onPacket(7)) return 1;
    }
    clock.advance(60s);
    if (connections.onPacket(7)) return 1;

    // The same with a handle, for a task that is any callable.
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
