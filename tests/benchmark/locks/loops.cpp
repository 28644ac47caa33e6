// What a LoopTimer's lock costs the loop and others: the figures of docs/decisions/0010, printed by
// ./dev bench locks.
//
// The loop's pair: schedule and cancel a hook an hour away, on the loop's thread. The other's pair:
// the same by handle, on another thread, once in so many turns of the loop. A turn ends with a call
// of runDue().

#include <timingwheel/LoopTimer.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using timingwheel::LoopTimer;
using timingwheel::ManualTimer;
using timingwheel::SystemTimer;
using timingwheel::WheelTimer;

constexpr int kRounds = 9;
constexpr int kPairs = 200'000;
constexpr int kVisits = 50;

struct Session {
    void onIdle() {}
    timingwheel::TimerHook<&Session::onIdle> idle{*this};
};

double nanosecondsSince(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
        .count();
}

double pair(WheelTimer& timer) {
    Session session;
    auto const deadline = timer.clock().now() + 1h;  // the clock is not what is measured
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kPairs; ++i) {
        timer.schedule(session.idle, deadline);
        session.idle.cancel();
    }
    return nanosecondsSince(begin) / kPairs;
}

std::unique_ptr<WheelTimer> leaning() {
    auto timer = std::make_unique<LoopTimer>();
    timer->runDue();
    return timer;
}

/// Another thread has come in this turn.
std::unique_ptr<WheelTimer> revoked() {
    auto timer = leaning();
    std::thread{[&] { timer->newTimeout([] {}, 1h).cancel(); }}.join();
    return timer;
}

double othersPair(std::chrono::microseconds turn, int turnsBetween) {
    LoopTimer timer;
    std::atomic<int> turns{0};
    std::atomic<bool> isOver{false};
    std::thread loop{[&] {
        Session session;
        while (!isOver) {
            auto const end = std::chrono::steady_clock::now() + turn;
            do {
                timer.schedule(session.idle, 1h);
                session.idle.cancel();
            } while (std::chrono::steady_clock::now() < end);
            timer.runDue();
            ++turns;
        }
    }};
    std::vector<double> visits;
    for (int i = 0; i < kVisits; ++i) {
        int const next = turns + turnsBetween;
        while (turns < next) std::this_thread::yield();
        auto const begin = std::chrono::steady_clock::now();
        timer.newTimeout([] {}, 1h).cancel();
        visits.push_back(nanosecondsSince(begin));
    }
    isOver = true;
    loop.join();
    std::nth_element(visits.begin(), visits.begin() + kVisits / 2, visits.end());
    return visits[kVisits / 2];
}

template <class Measure>
void print(char const* what, Measure&& measure) {
    std::vector<double> values;
    for (int round = 0; round < kRounds; ++round) values.push_back(measure());
    std::sort(values.begin(), values.end());
    std::printf("%-58s %10.1f\n", what, values[kRounds / 2]);
}

}  // namespace

int main() {
    std::printf("%-58s %10s\n", "ns, medians of 9 rounds", "a pair");
    print("ManualTimer, no lock", [] { return pair(*std::make_unique<ManualTimer>()); });
    print("LoopTimer, leaning to the loop", [] { return pair(*leaning()); });
    print("LoopTimer, after a visit of another thread", [] { return pair(*revoked()); });
    print("SystemTimer, std::mutex", [] { return pair(*std::make_unique<SystemTimer>()); });
    print("another thread, in every turn of the loop", [] { return othersPair(1ms, 0); });
    print("another thread, in one turn of eight", [] { return othersPair(1ms, 8); });
}
