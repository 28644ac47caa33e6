// When a loop has a whole batch of packets at hand: it pushes all their sessions back in one call.
// That reads the clock once, and the sessions come from memory side by side.

#include <timingwheel/ManualTimer.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <random>
#include <span>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kSessions = 100'000;
constexpr std::size_t kPackets = 64;  // in a batch, as recvmmsg or io_uring return them
constexpr auto kIdle = 60s;

struct Session {
    void onIdle() { isExpired = true; }

    bool isExpired = false;
    timingwheel::TimerHook<&Session::onIdle> idle{*this};  // the last member: it goes first
};

// Which sessions the next packets belong to. One in a hundred sessions is silent.
void receive(std::mt19937& random, std::span<std::size_t> packets) {
    for (std::size_t& packet : packets) {
        packet = random() % kSessions;
        if (packet % 100 == 0) ++packet;
    }
}

}  // namespace

int main() {
    timingwheel::ManualTimer timer{{.tick = 100ms, .wheelSize = 256}};
    std::deque<Session> sessions(kSessions);

    // All begin in one batch. A batch may be as long as you like.
    std::vector<timingwheel::TimerHookBase*> hooks;
    for (Session& session : sessions) hooks.push_back(&session.idle);
    timer.schedule(hooks, kIdle);

    std::mt19937 random{1};
    std::array<std::size_t, kPackets> packets{};
    std::size_t pushedBack = 0;
    for (int turn = 0; turn < 1'000; ++turn) {
        receive(random, packets);
        std::array<timingwheel::TimerHookBase*, kPackets> batch{};
        for (std::size_t i = 0; i < kPackets; ++i) batch[i] = &sessions[packets[i]].idle;
        pushedBack += timer.reschedule(batch, kIdle);  // how many were still pending
    }
    std::printf("%zu packets pushed their sessions back\n", pushedBack);

    // The server goes: no session is left to expire.
    std::printf("%zu sessions were cancelled\n", timer.cancel(hooks));
    return timer.pendingTimeouts() == 0 ? 0 : 1;
}
