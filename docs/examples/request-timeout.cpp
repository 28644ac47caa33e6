// When each request must end as answered or as timed out, never as both, without a lock of your
// own.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <cstdio>
#include <map>

using namespace std::chrono_literals;

class Client {
public:
    explicit Client(timingwheel::Timer& timer) : timer_{timer} {}

    void send(int request) {
        deadlines_[request] =
            timer_.newTimeout([request] { std::printf("request %d: timed out\n", request); }, 2s);
    }

    // True if the answer came in time. cancel() is true for one caller only, and then the task
    // never runs, even if it was due already and waited for its turn.
    bool onAnswer(int request) {
        bool const inTime = deadlines_[request].cancel();
        std::printf("request %d: %s\n", request, inTime ? "answered" : "the answer is too late");
        return inTime;
    }

    timingwheel::Timeout const& deadline(int request) { return deadlines_[request]; }

private:
    timingwheel::Timer& timer_;
    std::map<int, timingwheel::Timeout> deadlines_;
};

int main() {
    timingwheel::ManualClock clock;  // so that this program is quick: a server leaves it out
    bool asPromised = true;
    timingwheel::Timeout kept;
    {
        timingwheel::SystemTimer timer{{.clock = clock}};
        Client client{timer};
        client.send(1);
        client.send(2);
        clock.advance(500ms);
        asPromised &= client.onAnswer(1);
        asPromised &= !client.onAnswer(1);  // the second answer to the same request
        asPromised &= client.deadline(2).remaining() == 1500ms;
        clock.advance(1500ms);
        asPromised &= !client.onAnswer(2);
        kept = client.deadline(2);
    }
    // A handle is safe to keep for ever: it still knows what became of its timeout.
    asPromised &= kept.isExpired() && kept.timer() == nullptr && !kept.cancel();
    return asPromised ? 0 : 1;
}
