// When a service may be called 600 times a minute and no more: each call waits for the instant at
// which the quota allows it, and one that fails is tried again later and later. No thread of its
// own.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

class RateLimit {
public:
    using Call = std::function<bool()>;  // says whether it went well

    RateLimit(timingwheel::WheelTimer& timer, int callsPerMinute)
        : timer_{timer}, gap_{nanoseconds{1min} / callsPerMinute} {}

    void enqueue(Call call, nanoseconds backOff = 1s) {
        timer_.newTimeout(
            [=, this] {
                if (call()) return;
                timer_.newTimeout([=, this] { enqueue(call, 2 * backOff); }, backOff);
            },
            nextTurn());
    }

private:
    timingwheel::Clock::TimePoint nextTurn() {
        std::lock_guard const lock{mutex_};
        auto const turn = std::max(next_, timer_.clock().now());
        next_ = turn + gap_;
        return turn;
    }

    timingwheel::WheelTimer& timer_;
    nanoseconds const gap_;
    std::mutex mutex_;
    timingwheel::Clock::TimePoint next_{};
};

int main() {
    // Only the timer's thread uses these until the timer stops: no lock, and before the timer.
    int delivered = 0;
    int calls = 0;
    std::map<long, int> callsInSecond;

    timingwheel::ManualClock clock;
    timingwheel::SystemTimer timer{{.clock = clock}};
    RateLimit limit{timer, 600};

    // 1,000 orders for a service that refuses every tenth call.
    auto const callService = [&] {
        ++callsInSecond[clock.now().time_since_epoch() / 1s];
        bool const isRefused = ++calls % 10 == 0;
        delivered += !isRefused;
        return !isRefused;
    };
    for (int order = 0; order < 1'000; ++order) limit.enqueue(callService);
    clock.advance(1h);
    timer.stop();  // no task runs any more: what they use may be read, and may go

    int most = 0;
    for (auto const& [second, inSecond] : callsInSecond) most = std::max(most, inSecond);
    std::printf("%d orders delivered with %d calls, at most %d in a second\n", delivered, calls,
                most);
    return delivered == 1'000 && calls == 1'111 && most == 10 ? 0 : 1;
}
