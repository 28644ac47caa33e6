// A stranger's program: what somebody writes on the first day with the package. It schedules,
// cancels and waits on the real clock, then drives a wheel of its own, where entries cascade.
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/version.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

void check(bool ok, char const* what) {
    std::printf("%s: %s\n", ok ? "ok" : "WRONG", what);
    if (!ok) std::exit(EXIT_FAILURE);
}

void useSystemTimer() {
    std::atomic<int> ran{0};
    timingwheel::SystemTimer timer;
    auto timeout = timer.newTimeout([&] { ran += 100; }, 30s);
    timer.newTimeout([&] { ++ran; }, 30ms);
    check(timeout.cancel(), "a pending timeout is cancelled");
    timer.drain();
    check(ran == 1, "the other one ran, the cancelled one did not");
}

void useHashedWheelTimer() {
    std::atomic<int> ran{0};
    timingwheel::HashedWheelTimer timer{
        {.tick = 1ms, .taskPool = timingwheel::TaskPoolOptions{.threads = 1}}};
    auto timeout = timer.newTimeout([&] { ran += 100; }, 30s);
    auto other = timer.newTimeout([&] { ++ran; }, 30ms);
    check(timeout.cancel(), "a pending timeout of a flat wheel is cancelled");
    while (!other.isDone()) std::this_thread::sleep_for(1ms);
    check(ran == 1, "the other one ran, on the timer's own pool");
    timer.newTimeout([&] { ran += 100; }, 30s);
    check(timer.stop().size() == 1, "what is pending at the end is returned");
}

struct Lease : timingwheel::TimerTaskEntry {
    explicit Lease(std::string owner) : holder(std::move(owner)) {}
    std::string holder;
};

void useWheel() {
    timingwheel::TimingWheel<Lease> wheel{{.wheelSize = 20}};
    Lease early{"early"};
    Lease late{"late"};
    check(!wheel.add(early, timingwheel::Tick{7}).isDue(), "a deadline ahead is stored");
    // On the third level: it cascades twice.
    check(!wheel.add(late, timingwheel::Tick{425}).isDue(), "a far one is, too");
    check(wheel.nextExpiration() == timingwheel::Tick{7}, "the wheel knows its next expiration");

    std::string expired;
    auto const expire = [&](Lease& lease) { expired += lease.holder + ' '; };
    wheel.advanceTo(timingwheel::Tick{424}, expire);
    check(expired == "early ", "nothing expires early");
    wheel.advanceTo(timingwheel::Tick{425}, expire);
    check(expired == "early late ", "both have expired");
}

}  // namespace

int main() {
    std::printf("timingwheel %d.%d.%d\n", TIMINGWHEEL_VERSION_MAJOR, TIMINGWHEEL_VERSION_MINOR,
                TIMINGWHEEL_VERSION_PATCH);
    useSystemTimer();
    useHashedWheelTimer();
    useWheel();
}
