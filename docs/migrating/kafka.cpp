// What docs/migrating/kafka.md shows of this library, under a clock that is moved by hand.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <cstdio>

using namespace std::chrono_literals;

namespace {

class DelayedFetch {
public:
    DelayedFetch(timingwheel::SystemTimer& timer, int id) : id_{id} {
        timer.schedule(expiry_, 500ms);
    }

    /// From any thread, as often as you like.
    void complete() {
        if (expiry_.cancel()) onComplete("enough bytes");
    }

private:
    void expire() { onComplete("expired"); }
    void onComplete(char const* why) { std::printf("fetch %d: %s\n", id_, why); }  // once

    int id_;
    timingwheel::TimerHook<&DelayedFetch::expire> expiry_{*this};  // the last member
};

}  // namespace

int main() {
    timingwheel::ManualClock clock;
    timingwheel::SystemTimer timer{{.clock = clock}};
    DelayedFetch first{timer, 1}, second{timer, 2};
    clock.advance(499ms);
    first.complete();
    first.complete();
    clock.advance(1ms);
    second.complete();
    std::printf("pending: %zu\n", timer.pendingTimeouts());
}
