// When a great many sessions end and nobody minds if that is a few seconds late: with a tolerance
// they are moved less often on their way down the levels, and share wake-ups with their
// neighbours.

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

namespace {

constexpr int kSessions = 50'000;

struct Sweep {
    int wakeUps = 0;
    int moves = 0;
    nanoseconds earliest = nanoseconds::max();
    nanoseconds latest = nanoseconds::min();
};

class Session {
public:
    Session(timingwheel::ManualTimer& timer, timingwheel::TimeoutOptions options, Sweep& sweep)
        : timer_{timer}, end_{timer.clock().now() + 30min}, sweep_{sweep} {
        timer.schedule(hook_, end_, options);
    }

private:
    void onEnd() {
        nanoseconds const lateness = timer_.clock().now() - end_;
        sweep_.earliest = std::min(sweep_.earliest, lateness);
        sweep_.latest = std::max(sweep_.latest, lateness);
    }

    timingwheel::ManualTimer& timer_;
    timingwheel::Clock::TimePoint end_;
    Sweep& sweep_;
    timingwheel::TimerHook<&Session::onEnd> hook_{*this};
};

// Sessions that begin one millisecond after the other, and end half an hour later.
Sweep sweepWith(nanoseconds tolerance) {
    timingwheel::ManualClock clock;
    timingwheel::ManualTimer timer{{.clock = clock}};
    Sweep sweep;
    std::deque<Session> sessions;
    for (int i = 0; i < kSessions; ++i) {
        sessions.emplace_back(timer, timingwheel::TimeoutOptions{.tolerance = tolerance}, sweep);
        clock.advance(1ms);
    }
    while (auto const next = timer.nextExpiration()) {
        ++sweep.wakeUps;
        clock.advanceTo(*next);
    }
    for (std::uint64_t const moves : timer.statistics().cascaded)
        sweep.moves += static_cast<int>(moves);
    return sweep;
}

}  // namespace

int main() {
    bool asPromised = true;
    int wakeUps = 2 * kSessions;
    for (nanoseconds const tolerance : {0s, 10s, 180s}) {
        Sweep const sweep = sweepWith(tolerance);
        std::printf("tolerance %3d s: %5d wake-ups, %d moves\n", static_cast<int>(tolerance / 1s),
                    sweep.wakeUps, sweep.moves);
        asPromised &= sweep.earliest >= 0ns && sweep.latest <= tolerance + 1ms;
        asPromised &= sweep.wakeUps < wakeUps;
        wakeUps = sweep.wakeUps;
    }
    return asPromised ? 0 : 1;
}
