// When a great many sessions, leases or cache entries expire after a while of disuse, and every use
// pushes that back: a timeout inside each object, swept together where a little late will do.

#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerStatistics.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using TimePoint = timingwheel::Clock::TimePoint;

namespace {

constexpr int kSessions = 1'000'000;
constexpr int kFrontEnds = 2;   // threads that open sessions and use them
constexpr int kOneInUse = 100;  // of this many: nobody comes back to the others
constexpr auto kIdle = 500ms;   // half an hour in earnest, with a tolerance of minutes
constexpr timingwheel::TimeoutOptions kLenient{.tolerance = 50ms};

// What the sweeps saw. They run on the timer's thread, one after the other.
struct Sweeps {
    std::atomic<int> unused = 0;  // main waits for them
    int inUse = 0;
    int tooEarly = 0;
    timingwheel::LatenessHistogram lateness;
};

class Session {
public:
    Session(Sweeps& sweeps, bool isInUse) : sweeps_{sweeps}, isInUse_{isInUse} {}

    void open(timingwheel::SystemTimer& timer, TimePoint now) {
        lastUse_ = now;
        timer.schedule(idle_, now + kIdle, kLenient);  // allocates nothing
    }

    // False if the session has expired. No lock: a compare-and-set.
    bool use(TimePoint now) {
        if (!idle_.reschedule(now + kIdle, kLenient)) return false;
        lastUse_ = now;
        return true;
    }

private:
    void sweep() {
        auto const idleFor = timingwheel::Clock::steady().now() - lastUse_.load();
        if (idleFor < kIdle) ++sweeps_.tooEarly;
        sweeps_.lateness.add(idleFor - kIdle);
        if (isInUse_)
            ++sweeps_.inUse;
        else
            ++sweeps_.unused;
    }

    Sweeps& sweeps_;
    std::atomic<TimePoint> lastUse_{};
    bool const isInUse_;
    timingwheel::TimerHook<&Session::sweep> idle_{*this};  // the last member: it goes first
};

// Opens its sessions, then uses some of them at random.
void serve(std::stop_token const& isOver, timingwheel::SystemTimer& timer,
           std::deque<Session>& sessions, std::uint32_t seed) {
    timingwheel::Clock const& clock = timer.clock();
    for (Session& session : sessions) session.open(timer, clock.now());

    std::mt19937 random{seed};
    std::uniform_int_distribution<std::size_t> any{0, sessions.size() / kOneInUse - 1};
    while (!isOver.stop_requested()) {
        TimePoint const now = clock.now();
        for (int i = 0; i < 100; ++i) static_cast<void>(sessions[any(random) * kOneInUse].use(now));
        std::this_thread::sleep_for(1ms);
    }
}

}  // namespace

int main() {
    Sweeps sweeps;
    std::vector<std::deque<Session>> shares(kFrontEnds);
    for (int i = 0; i < kSessions; ++i) {
        std::deque<Session>& share = shares[static_cast<std::size_t>(i % kFrontEnds)];
        share.emplace_back(sweeps, share.size() % kOneInUse == 0);
    }
    timingwheel::SystemTimer timer;  // stops before the sessions go
    constexpr int kInUse = kSessions / kOneInUse;
    {
        std::vector<std::jthread> frontEnds;
        for (std::uint32_t i = 0; i < kFrontEnds; ++i)
            frontEnds.emplace_back(
                [&, i](std::stop_token const& isOver) { serve(isOver, timer, shares[i], i); });
        while (sweeps.unused < kSessions - kInUse) std::this_thread::sleep_for(10ms);
    }
    auto const kept = static_cast<int>(timer.stop().hooks());  // from here on nothing runs

    std::printf("%d sessions of %zu bytes, with their timeouts\n", kSessions, sizeof(Session));
    std::printf("%d that nobody used are swept, %d of all too early\n", sweeps.unused.load(),
                sweeps.tooEarly);
    std::printf("%d in use are kept, or were not used for long enough\n", kept + sweeps.inUse);
    // What depends on the machine and its load.
    auto const late = [&](double share) {
        return std::chrono::duration<double, std::milli>{sweeps.lateness.quantile(share)}.count();
    };
    std::printf("~ %d kept; swept %.1f ms late (half), %.1f ms (99 %%)\n", kept, late(0.5),
                late(0.99));
    timingwheel::TimerStatistics const all = timer.statistics();
    std::printf("~ %llu uses, %llu wake-ups\n", static_cast<unsigned long long>(all.rescheduled),
                static_cast<unsigned long long>(all.wakeUps));
    return sweeps.tooEarly == 0 && kept + sweeps.inUse == kInUse ? 0 : 1;
}
