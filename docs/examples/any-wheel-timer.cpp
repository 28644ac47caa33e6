// When the same code is to run on a SystemTimer in a server and on a ManualTimer in a test or loop.
// Written against WheelTimer, it repeats, reschedules, and has timeouts as members.

#include <timingwheel/timingwheel.h>

#include <chrono>
#include <cstdio>
#include <memory>

using namespace std::chrono_literals;

namespace {

/// Pings a peer every ten seconds, and gives it up after 25 s without an answer.
class Peer {
public:
    explicit Peer(timingwheel::WheelTimer& timer)
        : timer_{timer}, pings_{timer.scheduleAtFixedRate([this] { ++sent_; }, 10s, 10s)} {
        timer_.schedule(silence_, 25s);
    }
    ~Peer() {
        pings_.reset();
        silence_.cancelAndWait();
    }

    void answered() { silence_.reschedule(25s); }
    void slowDown() { timer_.reschedule(pings_.get(), 60s); }  // the next ping, in a minute
    int sent() const { return sent_; }
    bool isLost() const { return isLost_; }

private:
    void onSilence() {
        isLost_ = true;
        pings_.reset();
    }

    timingwheel::WheelTimer& timer_;
    int sent_ = 0;
    bool isLost_ = false;
    timingwheel::ScopedTimeout pings_;
    timingwheel::TimerHook<&Peer::onSilence> silence_{*this};  // the last member: it goes first
};

}  // namespace

int main() {
    // In a test, the clock drives the timer.
    timingwheel::ManualClock clock;
    timingwheel::ManualTimer timer{{.clock = clock}};
    Peer peer{timer};
    for (int i = 0; i < 3; ++i) {
        clock.advance(10s);
        peer.answered();
    }
    std::printf("after 30 s: %d pings, lost: %s\n", peer.sent(), peer.isLost() ? "yes" : "no");
    peer.slowDown();
    clock.advance(25s);
    std::printf("after 55 s: %d pings, lost: %s\n", peer.sent(), peer.isLost() ? "yes" : "no");

    // All that is left can be cancelled together. The timer goes on.
    auto report = std::make_shared<int>(0);
    timer.newTimeout(
        report, [](int& count) { ++count; }, 1min);  // only if the object still lives
    timer.newTimeout([] { std::puts("never"); }, 2min);
    std::printf("cancelled together: %zu\n", timer.cancelAll());

    // In a server, the same code runs on a timer with a thread of its own.
    timingwheel::SystemTimer system;
    Peer const other{system};
    std::printf("timers pending there: %zu\n", system.pendingTimeouts());
}
