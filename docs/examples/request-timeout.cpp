// When each request must end as answered or as timed out, never as both.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <cstdio>
#include <map>
#include <mutex>

using namespace std::chrono_literals;

class Client {
public:
    timingwheel::Timeout send(timingwheel::Timer& timer, int request) {
        std::lock_guard const lock{mutex_};
        return deadlines_[request] = timer.newTimeout([this, request] { onTimeout(request); }, 2s);
    }

    // True if the answer came in time. cancel() is true for one caller only, and then the task
    // never runs, even if it was due already and waited for its turn.
    bool onAnswer(int request) {
        bool const inTime = forget(request).cancel();  // false, too, for the empty handle
        std::printf("request %d: %s\n", request, inTime ? "answered" : "the answer is too late");
        return inTime;
    }

    std::size_t openRequests() const {
        std::lock_guard const lock{mutex_};
        return deadlines_.size();
    }

private:
    // On the timer's thread, while others send and receive.
    void onTimeout(int request) {
        forget(request);
        std::printf("request %d: timed out\n", request);
    }

    timingwheel::Timeout forget(int request) {
        std::lock_guard const lock{mutex_};
        auto const known = deadlines_.extract(request);
        return known ? known.mapped() : timingwheel::Timeout{};
    }

    mutable std::mutex mutex_;  // for the map: who wins is decided by cancel()
    std::map<int, timingwheel::Timeout> deadlines_;
};

int main() {
    timingwheel::ManualClock clock;  // so that this program is quick: a server leaves it out
    bool asPromised = true;
    timingwheel::Timeout kept;
    {
        Client client;  // before the timer, whose tasks use it
        timingwheel::SystemTimer timer{{.clock = clock}};
        client.send(timer, 1);
        kept = client.send(timer, 2);
        clock.advance(500ms);
        asPromised &= client.onAnswer(1);
        asPromised &= !client.onAnswer(1);  // the second answer to the same request
        asPromised &= kept.remaining() == 1500ms;
        clock.advance(1500ms);
        asPromised &= !client.onAnswer(2);
        asPromised &= client.openRequests() == 0;
    }
    // A handle is safe to keep for ever: it still knows what became of its timeout.
    asPromised &= kept.isExpired() && kept.timer() == nullptr && !kept.cancel();
    return asPromised ? 0 : 1;
}
