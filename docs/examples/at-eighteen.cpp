// When people name the time: at 18:00, whatever the clock is set to meanwhile.

#include <timingwheel/SystemTimer.h>

#include <chrono>
#include <cstdio>
#include <thread>

using namespace std::chrono_literals;
using timingwheel::Clock;

int main() {
    // The deadlines of this timer are times of day. When somebody sets the clock, what lies behind
    // then is due at once, and what lies ahead again waits again.
    timingwheel::SystemTimer byTheClock{{.clock = Clock::wall()}};
    auto const today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    timingwheel::Timeout const closing =
        byTheClock.newTimeout([] { std::puts("the market is closed"); },
                              Clock::wallTime(today + 24h + 18h));  // tomorrow, in UTC

    // Lengths of time belong in another timer, which nobody sets.
    timingwheel::SystemTimer timer;
    timer.newTimeout([] { std::puts("a quote is stale after 20 ms"); }, 20ms);
    timer.drain();

    timingwheel::Timeout const bell =
        byTheClock.newTimeout([] { std::puts("the bell rings"); },
                              Clock::wallTime(std::chrono::system_clock::now() + 20ms));
    while (!bell.isDone()) std::this_thread::sleep_for(1ms);
    std::puts(closing.isPending() ? "the market is open" : "the clock was set by a day");
    static_cast<void>(byTheClock.stop());
}
